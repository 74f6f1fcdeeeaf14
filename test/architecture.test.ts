/** Holds the repository to its house rules, and shows for each rule that breaking it goes red. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { builtName, DOORS } from '../scripts/doors.ts'
import { HOUSE_RULES, inspectHouse } from './support/architecture.ts'

const TOP = new URL('..', import.meta.url)

describe('the house', () => {
  it('breaks none of its rules', () => {
    expect(inspectHouse(sourcesOf(['src', 'test', 'benchmarks', 'examples', 'scripts']), Object.values(DOORS))).toEqual([])
  })

  it('opens exactly the doors package.json names', () => {
    const { exports } = JSON.parse(readFileSync(new URL('package.json', TOP), 'utf8'))
    const expected = Object.keys(DOORS).map((door) => [door, exportsOf(builtName(door))])
    expect(exports).toEqual({ ...Object.fromEntries(expected), './package.json': './package.json' })
  })
})

/** A small house in order: what each planted fault below is planted into. */
const HOUSE: Readonly<Record<string, string>> = {
  'src/index.ts': `/** The public door. */\nexport { createVault } from './create-vault.ts'\nexport type { Key } from './core/ports/keys.ts'`,
  'src/create-vault.ts': `/** Composes. */\nimport { vault } from './core/vault.ts'\nimport { ring } from './adapters/keys/ring.ts'\n/** Makes a vault. */\nexport const createVault = () => vault(ring)`,
  'src/core/errors.ts': `/** Errors. */\nexport class VaultError extends Error {}`,
  'src/core/ports/keys.ts': `/** Keys. */\n/** A key. */\nexport interface Key { open(): Promise<void> }`,
  'src/core/values/text.ts': `/** Text. */\nimport { z } from 'zod'\nexport const text = z.string()`,
  'src/core/tokens/coin.ts': `/** Coins. */\nexport const coin = 1`,
  'src/core/sealing/open.ts': `/** Opens. */\nexport const open = 1`,
  'src/core/schema/table.ts': `/** Tables. */\nimport { text } from '../values/text.ts'\nexport const table = text`,
  'src/core/barrier/reveal.ts': `/** Reveals. */\nimport { open } from '../sealing/open.ts'\nexport const reveal = open`,
  'src/core/operations/context.ts': `/** Context. */\nexport const context = 1`,
  'src/core/operations/get.ts': `/** Gets. */\nimport { context } from './context.ts'\nimport { reveal } from '../barrier/reveal.ts'\nexport const get = async () => [context, await reveal]`,
  'src/core/operations/insert.ts': `/** Inserts. */\nimport type { Key } from '../ports/keys.ts'\nexport const insert = async (key: Key) => key`,
  'src/core/vault.ts': `/** The vault. */\nimport { get } from './operations/get.ts'\nexport const vault = get`,
  'src/adapters/sql/body.ts': `/** SQL. */\nimport { VaultError } from '../../core/errors.ts'\nimport { sql } from 'kysely'\nexport const body = [sql, VaultError]`,
  'src/adapters/sqlite/index.ts': `/** SQLite. */\nimport { body } from '../sql/body.ts'\n/** A storage. */\nexport const sqliteStorage = body`,
  'src/adapters/memory/storage.ts': `/** Memory. */\nexport const storage = 1`,
  'src/adapters/keys/ring.ts': `/** The ring. */\nimport { randomBytes } from 'node:crypto'\nexport const ring = randomBytes`,
  'src/http/route.ts': `/** A route. */\nimport { createVault } from '../index.ts'\nexport const route = createVault`,
  'test/support/setup.ts': `/** What the runner asks for. */\nexport default () => {}`,
  'test/law.test.ts': `/** A law. */\nimport { it } from 'vitest'\nit('holds', () => {})`,
}
const HOUSE_DOORS = ['src/index.ts', 'src/adapters/sqlite/index.ts']

type RuleName = keyof typeof HOUSE_RULES

/** A file put into the house in order, and the one sentence it must cause. */
type Fault = readonly [rule: RuleName, path: string, text: string, sentence: string]

const FAULTS: readonly Fault[] = [
  [
    'opening line',
    'src/core/values/a.ts',
    `export const a = 1`,
    'src/core/values/a.ts does not open with a /** sentence */ saying what it is for',
  ],
  [
    'opening line',
    'test/a.test.ts',
    `/** */\nconst a = 1`,
    'test/a.test.ts does not open with a /** sentence */ saying what it is for',
  ],
  [
    'length',
    'src/core/values/a.ts',
    `/** A. */\n${'// a\n'.repeat(400)}`,
    'src/core/values/a.ts has 401 lines; split it at a noun (limit 400)',
  ],
  ['names', 'src/core/values/aB.ts', '/** A. */', 'src/core/values/aB.ts is not named in kebab-case (aB)'],
  [
    'names',
    'src/core/util/utils.ts',
    '/** A. */',
    'src/core/util/utils.ts is called utils, which says nothing; name what it holds',
  ],
  ['names', 'test/helpers/a.ts', '/** A. */', 'test/helpers/a.ts is called helpers, which says nothing; name what it holds'],
  [
    'named exports',
    'src/core/values/a.ts',
    '/** A. */\nexport default 1',
    'src/core/values/a.ts has a default export; export by name',
  ],
  [
    'named exports',
    'src/core/values/a.ts',
    '/** A. */\nexport default function a() {}',
    'src/core/values/a.ts has a default export; export by name',
  ],
  [
    'named exports',
    'src/core/values/a.ts',
    '/** A. */\nconst a = 1\nexport { a as default }',
    'src/core/values/a.ts has a default export; export by name',
  ],
  [
    'named exports',
    'src/core/values/a.ts',
    `/** A. */\nexport * from './text.ts'`,
    'src/core/values/a.ts exports everything of another file; name what it hands on',
  ],
  [
    'named exports',
    'src/core/values/a.ts',
    `/** A. */\nexport * as a from './text.ts'`,
    'src/core/values/a.ts exports everything of another file; name what it hands on',
  ],
  [
    'top level',
    'src/extra.ts',
    '/** A. */',
    'src/extra.ts stands in no room of the plan; move it, or add the room to the plan and its page',
  ],
  [
    'known modules',
    'src/core/values/a.ts',
    `/** A. */\nimport './gone.ts'`,
    'src/core/values/a.ts imports ./gone.ts, which is no file here',
  ],
  [
    'known modules',
    'src/adapters/memory/a.ts',
    `/** A. */\nexport const a = (b: string) => import(b)`,
    'src/adapters/memory/a.ts imports a module computed while running; name it in the text',
  ],
  [
    'packages',
    'src/core/values/a.ts',
    `/** A. */\nimport 'kysely'`,
    'src/core/values/a.ts imports the package kysely; allowed here: re2js, uuid, zod',
  ],
  [
    'packages',
    'src/adapters/sql/a.ts',
    `/** A. */\nimport type { Pool } from 'pg'`,
    'src/adapters/sql/a.ts imports the package pg; allowed here: kysely, node:async_hooks',
  ],
  [
    'packages',
    'src/adapters/conformance/a.ts',
    `/** A. */\nexport const a = () => import('node:fs')`,
    'src/adapters/conformance/a.ts imports the package node:fs; allowed here: none',
  ],
  [
    'packages',
    'src/adapters/keys/a.ts',
    `/** A. */\nexport type A = import('@noble/ciphers/aes').A`,
    'src/adapters/keys/a.ts imports the package @noble/ciphers/aes; allowed here: node:crypto, node:fs, node:fs/promises, node:os, node:path, node:perf_hooks, node:url',
  ],
  [
    'doors',
    'src/core/values/index.ts',
    '/** A. */',
    'src/core/values/index.ts is an index.ts without a door in package.json; import the file that owns the thing',
  ],
  [
    'doors are for outsiders',
    'src/adapters/sqlite/a.ts',
    `/** A. */\nimport { sqliteStorage } from './index.ts'\nexport const a = sqliteStorage`,
    'src/adapters/sqlite/a.ts imports the door src/adapters/sqlite/index.ts; doors are for outsiders, import the file that owns the thing',
  ],
  [
    'public door',
    'src/index.ts',
    '/** A. */\nexport const a = 1',
    'src/index.ts holds code of its own; the public door only re-exports',
  ],
  [
    'core is alone',
    'src/core/vault.ts',
    `/** A. */\nimport { ring } from '../adapters/keys/ring.ts'\nexport const vault = ring`,
    'src/core/vault.ts imports src/adapters/keys/ring.ts; core knows nothing outside core',
  ],
  [
    'staircase',
    'src/core/values/text.ts',
    `/** A. */\nimport type { context } from '../operations/context.ts'\nexport const text = 1`,
    'src/core/values/text.ts (step 2) imports src/core/operations/context.ts (step 9); imports only go down the stairs',
  ],
  [
    'staircase',
    'src/core/values/text.ts',
    `/** A. */\nexport const text = async_(import('../tokens/coin.ts'))`,
    'src/core/values/text.ts (step 2) imports src/core/tokens/coin.ts (step 2); imports only go down the stairs',
  ],
  [
    'known rooms',
    'src/core/attic/a.ts',
    '/** A. */',
    'src/core/attic/a.ts stands outside the staircase; add its room to the plan or move it',
  ],
  [
    'operations',
    'src/core/operations/insert.ts',
    `/** A. */\nexport { get as insert } from './get.ts'`,
    'src/core/operations/insert.ts imports src/core/operations/get.ts; operations never call each other',
  ],
  [
    'private files',
    'src/core/operations/get.ts',
    `/** A. */\nexport { open as get } from '../sealing/open.ts'`,
    'src/core/operations/get.ts imports src/core/sealing/open.ts; only src/core/barrier/reveal.ts may',
  ],
  [
    'adapters',
    'src/adapters/memory/a.ts',
    `/** A. */\nimport type { table } from '../../core/schema/table.ts'`,
    'src/adapters/memory/a.ts imports src/core/schema/table.ts; adapters see only core/ports, core/errors and core/util',
  ],
  [
    'adapters',
    'src/adapters/memory/a.ts',
    `/** A. */\nimport type { body } from '../sql/body.ts'`,
    'src/adapters/memory/a.ts imports src/adapters/sql/body.ts; adapters do not know each other',
  ],
  [
    'http',
    'src/http/route.ts',
    `/** A. */\nimport { VaultError } from '../core/errors.ts'`,
    'src/http/route.ts imports src/core/errors.ts; http enters through src/index.ts like any user',
  ],
  [
    'composition root',
    'src/create-vault.ts',
    `/** A. */\n/** B. */\nexport { storage as createVault } from './adapters/memory/storage.ts'`,
    'src/create-vault.ts imports src/adapters/memory/storage.ts; it only puts the default keys and system into core',
  ],
  [
    'waiting',
    'src/core/values/a.ts',
    '/** A. */\nexport const a = async () => 1',
    'src/core/values/a.ts says async; in core only ports, journal, stores, queries, operations, batch, vault wait',
  ],
  [
    'waiting',
    'src/core/values/a.ts',
    '/** A. */\nexport type A = Promise<string>',
    'src/core/values/a.ts says Promise; in core only ports, journal, stores, queries, operations, batch, vault wait',
  ],
  [
    'time and luck',
    'src/core/vault.ts',
    '/** A. */\nexport const vault = Date.now()',
    'src/core/vault.ts reaches for Date.now; time, luck and the machine come in through ports',
  ],
  [
    'time and luck',
    'src/core/vault.ts',
    '/** A. */\nexport const vault = new Date()',
    'src/core/vault.ts reaches for new Date(); time, luck and the machine come in through ports',
  ],
  [
    'time and luck',
    'src/core/vault.ts',
    '/** A. */\nexport const vault = Math.random()',
    'src/core/vault.ts reaches for Math.random; time, luck and the machine come in through ports',
  ],
  [
    'time and luck',
    'src/core/vault.ts',
    '/** A. */\nexport const vault = globalThis',
    'src/core/vault.ts reaches for globalThis; time, luck and the machine come in through ports',
  ],
  [
    'time and luck',
    'src/core/vault.ts',
    '/** A. */\nexport const vault = process.env',
    'src/core/vault.ts reaches for process; time, luck and the machine come in through ports',
  ],
  [
    'time and luck',
    'src/core/vault.ts',
    `/** A. */\nexport const vault = Buffer.from('')`,
    'src/core/vault.ts reaches for Buffer; time, luck and the machine come in through ports',
  ],
  [
    'circles',
    'src/core/values/text.ts',
    `/** A. */\nimport type { other } from './other.ts'\nexport const text = 1`,
    'src/core/values/text.ts -> src/core/values/other.ts -> src/core/values/text.ts is a circle of imports; move what both need below them',
  ],
  [
    'public words',
    'src/core/ports/keys.ts',
    `/** A. */\nimport '../errors.ts'\nexport interface Key {}`,
    'src/core/ports/keys.ts declares Key without a doc comment, and src/index.ts hands it out',
  ],
  [
    'audit verifier',
    'src/audit-verifier/a.ts',
    `/** A. */\nimport { storage } from '../adapters/memory/storage.ts'\nexport const a = storage`,
    'src/audit-verifier/a.ts imports src/adapters/memory/storage.ts; the audit verifier works where no vault is',
  ],
  ['public words', 'src/create-vault.ts', '/** A. */', 'src/index.ts hands out createVault, which is declared nowhere it names'],
]

describe('a house rule', () => {
  it('finds nothing in a house in order', () => {
    expect(inspectHouse(new Map(Object.entries(HOUSE)), HOUSE_DOORS)).toEqual([])
  })

  it.each(FAULTS)('of %s goes red with one sentence for %s', (_rule, path, text, sentence) => {
    const bystanders = sentence.includes('circle')
      ? { 'src/core/values/other.ts': `/** B. */\nexport { text as other } from './text.ts'` }
      : {}
    expect(inspectHouse(new Map(Object.entries({ ...HOUSE, ...bystanders, [path]: text })), HOUSE_DOORS)).toEqual([sentence])
  })

  it('speaks up for a door without a file', () => {
    const [sentence] = inspectHouse(new Map(Object.entries(HOUSE)), [...HOUSE_DOORS, 'src/adapters/keys/index.ts'])
    expect(sentence).toBe('package.json opens a door at src/adapters/keys/index.ts, where no file stands')
  })

  it('keeps the composition root behind the public door', () => {
    const text = `/** A. */\nimport { createVault } from '../create-vault.ts'\nexport const route = createVault`
    expect(inspectHouse(new Map(Object.entries({ ...HOUSE, 'src/http/route.ts': text })), HOUSE_DOORS)).toContain(
      'src/http/route.ts imports src/create-vault.ts; only src/index.ts hands it on',
    )
  })

  it('has a planted fault each', () => {
    const planted = new Set<string>([...FAULTS.map(([rule]) => rule), 'upper rooms'])
    expect(Object.keys(HOUSE_RULES).filter((rule) => !planted.has(rule))).toEqual([])
  })

  it.each([
    ['a comment', `/** Never await: a Promise needs Date.now and globalThis. */\nexport const a = 1`],
    ['a text', `/** A. */\nexport const a = 'async import x from "pg" in process'`],
    ['a regular expression', `/** A. */\nexport const a = /['"] await Math.random() Buffer/`],
    ['a member name', `/** A. */\nexport const a = (b: { process: 1 }) => [b.process, { Buffer: 1 }]`],
    ['a date from a number', `/** A. */\nexport const a = (b: number) => new Date(b)`],
  ])('is not broken by words in %s', (_where, text) => {
    expect(inspectHouse(new Map(Object.entries({ ...HOUSE, 'src/core/values/a.ts': text })), HOUSE_DOORS)).toEqual([])
  })
})

function exportsOf(name: string): object {
  return {
    import: { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` },
    require: { types: `./dist/${name}.d.cts`, default: `./dist/${name}.cjs` },
  }
}

/** TypeScript files of these folders, by path from the top of the repository. */
function sourcesOf(folders: readonly string[]): Map<string, string> {
  const paths = folders.flatMap((folder) =>
    readdirSync(new URL(folder, TOP), { recursive: true, encoding: 'utf8' }).map(
      (path) => `${folder}/${path.replaceAll('\\', '/')}`,
    ),
  )
  return new Map(paths.filter((path) => path.endsWith('.ts')).map((path) => [path, readFileSync(new URL(path, TOP), 'utf8')]))
}
