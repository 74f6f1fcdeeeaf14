/** Packs the built package and uses it as an application does: with both module systems, three compilers and without optional peers. */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as z from 'zod'
import { required } from '../src/core/util/at.ts'
import { BUNDLED_PACKAGES, NOTICES } from './bundled-packages.ts'
import { builtName, ENTRY_POINTS } from './entry-points.ts'

const TOP = fileURLToPath(new URL('..', import.meta.url))
const MODULES = join(TOP, 'node_modules')
const NAME = 'strongroom'

/** Entry points that need an optional peer dependency, and its name. */
const OPTIONAL_PEERS: Readonly<Record<string, readonly string[]>> = {
  './sqlite': ['better-sqlite3'],
  './postgres': ['pg'],
  './opentelemetry': ['@opentelemetry/api'],
}
/** Compilers of consumers, by the name of their package in node_modules. */
const COMPILERS = ['typescript-5.9', 'typescript', 'typescript-7']
/** Module settings of consumers, and the files compiled with each. */
const RESOLUTIONS = [
  { module: 'nodenext', moduleResolution: 'nodenext', files: ['consumer.mts', 'consumer.cts'] },
  { module: 'esnext', moduleResolution: 'bundler', files: ['consumer.ts'] },
]

/** The members of `npm pack --json` that are read, one entry per package. The outer shape depends on the version of npm. */
const packedEntry = z.object({ filename: z.string(), unpackedSize: z.number(), entryCount: z.number() })
const packedShape = z.union([z.array(packedEntry), z.record(z.string(), packedEntry)])

const faults: string[] = []
const home = mkdtempSync(join(tmpdir(), 'consumer-'))
try {
  const tarball = pack(home)
  checkContents(join(home, 'node_modules', NAME))
  run('the types resolve', 'node', [
    join(MODULES, '@arethetypeswrong/cli/dist/index.js'),
    '--profile',
    'node16',
    '--no-emoji',
    tarball,
  ])
  linkPackages(Object.keys(manifest().dependencies ?? {}))
  checkEntryPoints(Object.keys(ENTRY_POINTS).filter((entryPoint) => OPTIONAL_PEERS[entryPoint] === undefined))
  checkVaults()
  linkPackages([...Object.values(OPTIONAL_PEERS).flat(), '@types/better-sqlite3', '@types/pg', '@types/node', 'kysely'])
  checkEntryPoints(Object.keys(ENTRY_POINTS))
  checkHostTransaction()
  checkConsumers()
} finally {
  rmSync(home, { recursive: true })
}
for (const fault of faults) console.error(`- ${fault}`)
console.log(faults.length === 0 ? 'package in order' : `${faults.length} checks of the package failed`)
process.exitCode = faults.length === 0 ? 0 : 1

/** Packs the package, unpacks it into the consumer's node_modules, and returns the path of the tarball. */
function pack(folder: string): string {
  const output = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: TOP,
    encoding: 'utf8',
  })
  const packed = required(Object.values(packedShape.parse(JSON.parse(output)))[0], 'the tarball of npm pack')
  const tarball = join(folder, packed.filename)
  const target = join(folder, 'node_modules', NAME)
  mkdirSync(target, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1'])
  console.log(`packed ${packed.entryCount} files, ${Math.round(packed.unpackedSize / 1024)} KB unpacked`)
  return tarball
}

function manifest(): { readonly dependencies?: Readonly<Record<string, string>> } {
  return JSON.parse(readFileSync(join(TOP, 'package.json'), 'utf8'))
}

/** Checks that the documents are packed, that each module system has one error class, and what the built files import. */
function checkContents(folder: string): void {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
  const paths = files.map((one) => join(one.parentPath, one.name))
  for (const document of ['LICENSE', 'README.md', 'CHANGELOG.md', 'package.json', `dist/${NOTICES}`]) {
    if (!paths.includes(join(folder, document))) faults.push(`${document} is not in the package`)
  }
  for (const extension of ['.js', '.cjs']) {
    const classes = paths.filter(
      (path) => path.endsWith(extension) && /class VaultError\b|VaultError = class\b/.test(readFileSync(path, 'utf8')),
    )
    if (classes.length !== 1)
      faults.push(
        `VaultError is declared ${classes.length} times in the ${extension} files; all entry points must share one class`,
      )
  }
  for (const path of paths.filter((one) => /\.c?js$/.test(one))) checkBuiltFile(path)
  for (const path of paths.filter((one) => /\.d\.c?ts$/.test(one))) {
    if (/(from|import\()\s*['"][^'"]*(?<!\.d)\.[cm]?ts['"]/.test(readFileSync(path, 'utf8')))
      faults.push(`${path} imports a .ts file, which is not shipped`)
  }
}

/** Checks that a built file loads no package that is built into ours, and that all its bytes are ASCII, which Node compiles faster. */
function checkBuiltFile(path: string): void {
  const text = readFileSync(path, 'latin1')
  const imported = BUNDLED_PACKAGES.filter((name) => new RegExp(`(from ?|require\\()["']${name}["']`).test(text))
  if (imported.length > 0) faults.push(`${path} imports ${imported.join(', ')}, which should be built into it`)
  if (/#\w+ = exports\./.test(text)) faults.push(`${path} assigns an export in place of a private member`)
  if (/[\u0080-\u00ff]/.test(text)) faults.push(`${path} has characters beyond ASCII`)
}

/** Links the named packages of this repository into the consumer's node_modules. */
function linkPackages(names: readonly string[]): void {
  for (const name of names) {
    const link = join(home, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(MODULES, name), link)
  }
}

/** Loads entry points by `import` and by `require`, and compares their exports. */
function checkEntryPoints(entryPoints: readonly string[]): void {
  const script = `
    import { createRequire } from 'node:module'
    const require = createRequire(import.meta.url)
    for (const name of ${JSON.stringify(entryPoints.map((entryPoint) => join(NAME, entryPoint)))}) {
      const [esm, cjs] = [Object.keys(await import(name)), Object.keys(require(name))].map((names) => names.sort().join(' '))
      if (esm === '') throw new Error(name + ' exports nothing')
      if (esm !== cjs) throw new Error(name + ' exports [' + esm + '] to import and [' + cjs + '] to require')
    }`
  writeFileSync(join(home, 'entry-points.mjs'), script)
  run(`the entry points ${entryPoints.map(builtName).join(', ')} load`, 'node', ['entry-points.mjs'])
}

/** Stores and reads a record over HTTP, with what `import` loads and with what `require` loads. Loading alone runs next to nothing. */
function checkVaults(): void {
  const script = `
    import { createRequire } from 'node:module'
    const require = createRequire(import.meta.url)
    const loaders = { import: (name) => import(name), require: async (name) => require(name) }
    for (const [kind, load] of Object.entries(loaders)) {
      const [core, http, keys, memory] = await Promise.all(['', '/http', '/keys', '/memory'].map((path) => load('${NAME}' + path)))
      const { column, createVault, defineSchema } = core
      const schema = defineSchema({ notes: { text: column.string({ redaction: 'PLAIN_TEXT' }) } })
      const localKeys = keys.localKeys({ key: Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString('base64') })
      const vault = await createVault({ id: 'v1', schema, storage: memory.memoryStorage(), keys: localKeys })
      const owner = vault.as({ actor: 'check', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] })
      await owner.insert('notes', [{ fields: { text: 'stored' } }])
      const { apiKey } = await http.createApiKey(owner, { name: 'check', roles: ['VAULT_OWNER'] })
      const handler = http.createHandler({ vaults: vault, authenticate: http.apiKeys() })
      const headers = { authorization: 'Bearer ' + apiKey }
      const text = await (await handler(new Request('http://vault.example/v1/vaults/v1/notes', { headers }))).text()
      if (!text.includes('stored')) throw new Error(kind + ' reads ' + text)
      await vault.close()
    }`
  writeFileSync(join(home, 'vaults.mjs'), script)
  run('a vault is used by import and by require', 'node', ['vaults.mjs'])
}

/** Inserts and rolls back inside a transaction of the application's own Kysely, which is not the one that is built in. */
function checkHostTransaction(): void {
  const script = `
    import Database from 'better-sqlite3'
    import { Kysely, SqliteDialect } from 'kysely'
    import { column, createVault, defineSchema } from '${NAME}'
    import { localKeys } from '${NAME}/keys'
    import { sqliteStorage } from '${NAME}/sqlite'
    const schema = defineSchema({ notes: { text: column.string({ redaction: 'PLAIN_TEXT' }) } })
    const keys = localKeys({ key: Buffer.alloc(32, 'key').toString('base64') })
    const vault = await createVault({ id: 'v1', schema, storage: sqliteStorage({ filename: 'host.db' }), keys })
    const owner = { actor: 'check', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] }
    const kysely = new Kysely({ dialect: new SqliteDialect({ database: new Database('host.db') }) })
    for (const fails of [true, false]) {
      await kysely.transaction().execute(async (transaction) => {
        await vault.withTransaction(transaction).as(owner).insert('notes', [{ fields: { text: 'joined' } }])
        if (fails) throw new Error('rolled back')
      }).catch((error) => { if (!fails) throw error })
    }
    const { records } = await vault.as(owner).get('notes')
    if (records.length !== 1) throw new Error('found ' + records.length + ' records')
    await kysely.destroy()
    await vault.close()`
  writeFileSync(join(home, 'host-transaction.mjs'), script)
  run("a vault joins a transaction of the application's Kysely", 'node', ['host-transaction.mjs'])
}

/** Compiles the consumers against the built declarations with every compiler and every module setting. */
function checkConsumers(): void {
  writeFileSync(join(home, 'package.json'), JSON.stringify({ type: 'module' }))
  for (const extension of ['ts', 'mts', 'cts'])
    copyFileSync(join(TOP, 'test/package/consumer.ts'), join(home, `consumer.${extension}`))
  for (const { files, ...resolution } of RESOLUTIONS) {
    const compilerOptions = {
      ...resolution,
      target: 'es2023',
      lib: ['es2023'],
      types: ['node'],
      strict: true,
      noEmit: true,
      skipLibCheck: false,
    }
    writeFileSync(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    for (const compiler of COMPILERS) {
      run(`consumers compile with ${compiler}, ${resolution.moduleResolution}`, 'node', [
        join(MODULES, compiler, 'bin/tsc'),
        '-p',
        'tsconfig.json',
      ])
    }
  }
}

/** Runs one check in the consumer's folder. A failure is recorded with its output, and the other checks still run. */
function run(what: string, command: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: home, encoding: 'utf8' })
  console.log(`${status === 0 ? 'ok  ' : 'FAIL'} ${what}`)
  if (status !== 0) faults.push(`failed: ${what}\n${stdout}${stderr}`)
}
