/** The configuration: which loader reads it, what is wrong with it by path, and where secrets come from. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { configFaults } from '../../src/cli/config/config-shape.ts'
import { loadConfig } from '../../src/cli/config/load-config.ts'
import { readSecret } from '../../src/cli/config/secrets.ts'
import { commandFolder } from '../support/cli/run-command.ts'

const VAULT = { id: 'v1', schema: {}, storage: { sqlite: { filename: 'vault.db' } }, keys: { file: 'vault.key' } }

describe('what is wrong with a configuration', () => {
  const faulty: readonly (readonly [unknown, string])[] = [
    [{}, 'vault: Invalid input: expected object, received undefined'],
    [{ vault: VAULT, extra: 1 }, 'the configuration: Unrecognized key: "extra"'],
    [
      { vault: { ...VAULT, storage: { sqlite: { file: 'x' } } } },
      'vault.storage.sqlite.filename: Invalid input: expected string, received undefined',
    ],
    [{ vault: { ...VAULT, storage: {} } }, 'vault.storage: must have exactly one of: sqlite, postgres'],
    [
      { vault: { ...VAULT, storage: { sqlite: { filename: 'a' }, postgres: { connectionString: { env: 'A' } } } } },
      'vault.storage: must have exactly one of: sqlite, postgres',
    ],
    [
      { vault: { ...VAULT, storage: { postgres: { connectionString: 'postgres://secret' } } } },
      'vault.storage.postgres.connectionString: Invalid input: expected object, received string',
    ],
    [{ vault: { ...VAULT, keys: { file: 'a', env: 'B' } } }, 'vault.keys: must have exactly one of: file, env, transit, pkcs11'],
    [{ vault: VAULT, server: { port: '8420' } }, 'server.port: Invalid input: expected number, received string'],
  ]

  for (const [config, sentence] of faulty) {
    it(sentence, () => {
      expect(configFaults(config)).toContain(sentence)
      expect(configFaults(config).join()).not.toContain('secret')
    })
  }

  it('is nothing for data or functions', () => {
    expect(configFaults({ vault: VAULT })).toEqual([])
    expect(configFaults({ vault: { ...VAULT, storage: () => {}, keys: () => {} } })).toEqual([])
  })
})

/** Loads the configuration of a folder as Node does: the runner of these tests would read TypeScript by its own means. */
function probe(folder: string, then = ''): { readonly id: string; readonly path: string; readonly notes: readonly string[] } {
  const source = new URL('../../src/cli/config/load-config.ts', import.meta.url).href
  const code = `const notes = []
    const { loadConfig } = await import(${JSON.stringify(source)})
    const { config, pathOf } = await loadConfig({ note: (sentence) => notes.push(sentence) })
    console.log(JSON.stringify({ id: config.vault.id, path: pathOf('vault.db'), notes }))
    ${then}`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { cwd: folder, encoding: 'utf8' })
  if (stderr !== '') throw new Error(stderr)
  return JSON.parse(stdout)
}

describe('loading', () => {
  const CONTENT = `vault: { id: 'v1', schema: {}, storage: { sqlite: { filename: 'vault.db' } }, keys: { file: 'vault.key' } }`

  /** Each file, and whether Node's own type stripping reads it. */
  const files: Readonly<Record<string, readonly [text: string, isNative: boolean]>> = {
    'plain types': [`const config: { vault: object } = { ${CONTENT} }\nexport default config`, true],
    'an enum': [`enum Kind { One }\nexport const kind = Kind.One\nexport default { ${CONTENT} }`, false],
    'an import without its extension': [
      `import { id } from './other'\nexport const mine = id\nexport default { ${CONTENT} }`,
      false,
    ],
    'a type imported without `type`': [
      `import { Other } from './other.ts'\nexport const one: Other = 1\nexport default { ${CONTENT} }`,
      false,
    ],
  }

  for (const [name, [text, isNative]] of Object.entries(files)) {
    it(`reads ${name}, and writes nothing beside it or into the temporary folder`, async () => {
      const folder = commandFolder({
        'strongroom.config.ts': text,
        'other.ts': `export type Other = number\nexport const id = 'v1'`,
      })
      const { id, path, notes } = probe(folder)
      expect([id, path]).toEqual(['v1', join(folder, 'vault.db')])
      expect(notes.length === 0).toBe(isNative)
      expect(readdirSync(folder).sort()).toEqual(['node_modules', 'other.ts', 'strongroom.config.ts'])
      expect(existsSync(join(tmpdir(), 'jiti'))).toBe(false)
    })
  }

  it('prints no warning of the loader in a package as `npm init` makes it, and keeps later ones', () => {
    const folder = commandFolder({
      'package.json': '{ "type": "commonjs" }',
      'strongroom.config.ts': `import { id } from './other.ts'\nexport const mine = id\nexport default { ${CONTENT} }`,
      'other.ts': `export const id = 'v1'`,
    })
    expect(probe(folder).id).toBe('v1')
    expect(() => probe(folder, `process.emitWarning('later')`)).toThrow('Warning: later')
  })

  it('reads JSON that names the module of its schema', async () => {
    const json = JSON.stringify({ vault: { ...VAULT, schema: './schema.ts' } })
    const folder = commandFolder({ 'strongroom.config.json': json, 'schema.ts': 'export const schema = { customers: {} }' })
    expect((await loadConfig({ folder })).config.vault.schema).toEqual({ customers: {} })
  })

  it('says what is wrong, and never what a configuration contains', async () => {
    const text = `throw new Error('postgres://user:secret@db')`
    const folder = commandFolder({ 'strongroom.config.ts': text, 'none.ts': 'export const config = {}', 'bad.json': '{' })
    const failure = await loadConfig({ folder }).catch((error) => error)
    expect(failure.message).toMatch(/strongroom\.config\.ts cannot be loaded: /)
    expect(failure.message).not.toContain('postgres')
    expect(failure.message).toContain('its code throws Error')
    expect(() => probe(commandFolder({ 'strongroom.config.ts': 'export default {' }))).toThrow('it has a syntax error')
    await expect(loadConfig({ folder, file: 'none.ts' })).rejects.toThrow('none.ts: it has no default export')
    await expect(loadConfig({ folder, file: 'bad.json' })).rejects.toThrow('bad.json: it is no JSON')
    await expect(loadConfig({ folder, file: 'gone.ts' })).rejects.toThrow('The configuration gone.ts does not exist.')
    await expect(loadConfig({ folder: tmpdir() })).rejects.toThrow('This folder has no strongroom.config.ts.')
  })
})

describe('secrets', () => {
  it('are in a variable, or in a file without its last line break', async () => {
    const folder = commandFolder({ secret: 'of a file\n', empty: '' })
    const source = { environment: { SECRET: 'of the environment', NONE: '' }, pathOf: (path: string) => join(folder, path) }
    expect(await readSecret({ env: 'SECRET' }, 'vault.a', source)).toBe('of the environment')
    expect(await readSecret({ file: 'secret' }, 'vault.a', source)).toBe('of a file')
    await expect(readSecret({ env: 'NONE' }, 'vault.a', source)).rejects.toThrow(
      'vault.a: the environment variable NONE is not set.',
    )
    for (const file of ['gone', 'empty'])
      await expect(readSecret({ file }, 'vault.a', source)).rejects.toThrow('cannot be read, or is empty')
  })
})
