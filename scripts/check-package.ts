/** Packs the built package and uses it as strangers do: both module systems, three compilers, optional parts missing. */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtName, DOORS } from './doors.ts'

const TOP = fileURLToPath(new URL('..', import.meta.url))
const MODULES = join(TOP, 'node_modules')
const NAME = 'strongroom'

/** Doors that need a database driver the application installs itself, and what that is. */
const DRIVERS: Readonly<Record<string, readonly string[]>> = {
  './sqlite': ['better-sqlite3'],
  './postgres': ['pg'],
  './opentelemetry': ['@opentelemetry/api'],
}
/** Compilers a consumer may have, as installed here. */
const COMPILERS = ['typescript-5.9', 'typescript', 'typescript-7']
/** How a consumer's compiler may look for modules, and the files it compiles. */
const RESOLUTIONS = [
  { module: 'nodenext', moduleResolution: 'nodenext', files: ['consumer.mts', 'consumer.cts'] },
  { module: 'esnext', moduleResolution: 'bundler', files: ['consumer.ts'] },
]

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
  checkDoors(Object.keys(DOORS).filter((door) => DRIVERS[door] === undefined))
  linkPackages([...Object.values(DRIVERS).flat(), '@types/better-sqlite3', '@types/pg', '@types/node'])
  checkDoors(Object.keys(DOORS))
  checkConsumers()
} finally {
  rmSync(home, { recursive: true })
}
for (const fault of faults) console.error(`- ${fault}`)
console.log(faults.length === 0 ? 'package in order' : `package broken in ${faults.length} places`)
process.exitCode = faults.length === 0 ? 0 : 1

/** Packs as publishing would and unpacks where a consumer would find it; answers the tarball's path. */
function pack(folder: string): string {
  const answer = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: TOP,
    encoding: 'utf8',
  })
  // The shape npm documents for --json: one entry here, for one package.
  const [packed] = Object.values(JSON.parse(answer)) as { filename: string; unpackedSize: number; entryCount: number }[]
  if (packed === undefined) throw new Error('npm pack answered no tarball; run it by hand to see why')
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

/** Nothing but built files and papers; one error class per module system; declarations that stand by themselves. */
function checkContents(folder: string): void {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
  const paths = files.map((one) => join(one.parentPath, one.name))
  for (const paper of ['LICENSE', 'README.md', 'CHANGELOG.md', 'package.json']) {
    if (!paths.includes(join(folder, paper))) faults.push(`${paper} is not in the package`)
  }
  for (const extension of ['.js', '.cjs']) {
    const classes = paths.filter(
      (path) => path.endsWith(extension) && /class VaultError\b|VaultError = class\b/.test(readFileSync(path, 'utf8')),
    )
    if (classes.length !== 1)
      faults.push(`VaultError stands ${classes.length} times among the ${extension} files; it must be one class behind all doors`)
  }
  for (const path of paths.filter((one) => /\.d\.c?ts$/.test(one))) {
    if (/(from|import\()\s*['"][^'"]*(?<!\.d)\.[cm]?ts['"]/.test(readFileSync(path, 'utf8')))
      faults.push(`${path} imports a .ts file, which is not shipped`)
  }
}

/** Puts packages of this repository within the consumer's reach, and only those named. */
function linkPackages(names: readonly string[]): void {
  for (const name of names) {
    const link = join(home, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(MODULES, name), link)
  }
}

/** Loads doors by `import` and by `require`, and compares what they hand out. */
function checkDoors(doors: readonly string[]): void {
  const script = `
    import { createRequire } from 'node:module'
    const require = createRequire(import.meta.url)
    for (const door of ${JSON.stringify(doors.map((door) => join(NAME, door)))}) {
      const [esm, cjs] = [Object.keys(await import(door)), Object.keys(require(door))].map((names) => names.sort().join(' '))
      if (esm === '') throw new Error(door + ' hands out nothing')
      if (esm !== cjs) throw new Error(door + ' hands out [' + esm + '] to import and [' + cjs + '] to require')
    }`
  writeFileSync(join(home, 'doors.mjs'), script)
  run(`the doors ${doors.map(builtName).join(', ')} open`, 'node', ['doors.mjs'])
}

/** Compiles the consumers against the built declarations with every compiler and every way to resolve modules. */
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

/** Runs one check in the consumer's folder; a failure is noted with what it printed, and the other checks go on. */
function run(what: string, command: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: home, encoding: 'utf8' })
  console.log(`${status === 0 ? 'ok  ' : 'FAIL'} ${what}`)
  if (status !== 0) faults.push(`not true: ${what}\n${stdout}${stderr}`)
}
