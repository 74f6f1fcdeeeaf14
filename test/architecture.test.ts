/** Checks the repository against the module rules, and shows for each rule that breaking it fails. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { builtName, ENTRY_POINTS } from '../scripts/entry-points.ts'
import { inspectModules, layerOf, MODULE_RULES } from './support/architecture/inspect-modules.ts'
import { ASYNC_MODULES, PACKAGES } from './support/architecture/module-plan.ts'

const TOP = new URL('..', import.meta.url)

describe('the repository', () => {
  it('breaks no module rule', () => {
    expect(inspectModules(sourcesOf(['src', 'test', 'benchmarks', 'examples', 'scripts']), Object.values(ENTRY_POINTS))).toEqual(
      [],
    )
  })

  it('has exactly the entry points that package.json names, for every way to resolve types', () => {
    const { exports, typesVersions } = JSON.parse(readFileSync(new URL('package.json', TOP), 'utf8'))
    const expected = Object.keys(ENTRY_POINTS).map((name) => [name, exportsOf(builtName(name))])
    expect(exports).toEqual({ ...Object.fromEntries(expected), './package.json': './package.json' })
    // Compilers that resolve as Node 10 did read no `exports`.
    const typed = Object.keys(ENTRY_POINTS).flatMap((name) =>
      name === '.' ? [] : [[builtName(name), [`./dist/${builtName(name)}.d.cts`]]],
    )
    expect(typesVersions).toEqual({ '*': Object.fromEntries(typed) })
  })
})

/** A small repository that breaks no rule. Each violation below is added to it. */
const SAMPLE: Readonly<Record<string, string>> = {
  'src/index.ts': `/** The main entry point. */\nexport { createVault } from './create-vault.ts'\nexport type { Key } from './core/ports/keys.ts'`,
  'src/create-vault.ts': `/** Composes. */\nimport { vault } from './core/vault.ts'\nimport { ring } from './adapters/keys/ring.ts'\n/** Makes a vault. */\nexport const createVault = () => vault(ring)`,
  'src/core/errors.ts': `/** Errors. */\nexport class VaultError extends Error {}`,
  'src/core/ports/keys.ts': `/** Keys. */\n/** A key. */\nexport interface Key { open(): Promise<void> }`,
  'src/core/values/text.ts': `/** Text. */\nimport * as z from 'zod'\nexport const text = z.string()`,
  'src/core/tokens/coin.ts': `/** Coins. */\nexport const coin = 1`,
  'src/core/sealing/open.ts': `/** Opens. */\nexport const open = 1`,
  'src/core/schema/table.ts': `/** Tables. */\nimport { text } from '../values/text.ts'\nexport const table = text`,
  'src/core/barrier/reveal.ts': `/** Reveals. */\nimport { open } from '../sealing/open.ts'\nexport const reveal = open`,
  'src/core/execution/context.ts': `/** Context. */\nexport const context = 1`,
  'src/core/operations/get.ts': `/** Gets. */\nimport { context } from '../execution/context.ts'\nimport { reveal } from '../barrier/reveal.ts'\nexport const get = async () => [context, await reveal]`,
  'src/core/operations/insert.ts': `/** Inserts. */\nimport type { Key } from '../ports/keys.ts'\nexport const insert = async (key: Key) => key`,
  'src/core/vault.ts': `/** The vault. */\nimport { get } from './operations/get.ts'\nexport const vault = get`,
  'src/adapters/sql/body.ts': `/** SQL. */\nimport { VaultError } from '../../core/errors.ts'\nimport { sql } from 'kysely'\nexport const body = [sql, VaultError]`,
  'src/adapters/sqlite/index.ts': `/** SQLite. */\nimport { body } from '../sql/body.ts'\n/** A storage. */\nexport const sqliteStorage = body`,
  'src/adapters/memory/storage.ts': `/** Memory. */\nexport const storage = 1`,
  'src/adapters/keys/ring.ts': `/** The ring. */\nimport { randomBytes } from 'node:crypto'\nexport const ring = randomBytes`,
  'src/http/route.ts': `/** A route. */\nimport { createVault } from '../index.ts'\nexport const route = createVault`,
  'test/support/setup.ts': `/** What the runner asks for. */\nexport default () => {}`,
  'test/property.test.ts': `/** A property. */\nimport { it } from 'vitest'\nit('holds', () => {})`,
}
const SAMPLE_ENTRY_POINTS = ['src/index.ts', 'src/adapters/sqlite/index.ts']

type RuleName = keyof typeof MODULE_RULES

/** A file added to the sample, and the one sentence it must cause. */
type Violation = readonly [rule: RuleName, path: string, text: string, sentence: string]

const VIOLATIONS: readonly Violation[] = [
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
    'src/core/util/utils.ts is called utils, which does not say what it holds; use a specific name',
  ],
  [
    'names',
    'test/helpers/a.ts',
    '/** A. */',
    'test/helpers/a.ts is called helpers, which does not say what it holds; use a specific name',
  ],
  [
    'words',
    'src/core/values/a.ts',
    '/** A. */\nexport const auditLane = 1',
    'src/core/values/a.ts:2 has the retired word "lane"; use chain, connection, executor or batch item',
  ],
  [
    'words',
    'src/core/values/a.ts',
    '/** A. */\nexport const MOST_ROWS = 1',
    'src/core/values/a.ts:2 has the retired word "MOST_ROWS"; use MAX_…',
  ],
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
    'src/core/values/a.ts exports everything of another file; name each export',
  ],
  [
    'named exports',
    'src/core/values/a.ts',
    `/** A. */\nexport * as a from './text.ts'`,
    'src/core/values/a.ts exports everything of another file; name each export',
  ],
  [
    'top level',
    'src/extra.ts',
    '/** A. */',
    'src/extra.ts is in no module of the plan; move it, or add the module to the plan and its page',
  ],
  [
    'resolvable imports',
    'src/core/values/a.ts',
    `/** A. */\nimport './gone.ts'`,
    'src/core/values/a.ts imports ./gone.ts, which does not exist',
  ],
  [
    'resolvable imports',
    'src/adapters/memory/a.ts',
    `/** A. */\nexport const a = (b: string) => import(b)`,
    'src/adapters/memory/a.ts imports a module computed at run time; use a literal name',
  ],
  [
    'packages',
    'src/core/values/a.ts',
    `/** A. */\nimport 'kysely'`,
    `src/core/values/a.ts imports the package kysely; allowed here: ${allowedIn('src/core')}`,
  ],
  [
    'packages',
    'src/adapters/sql/a.ts',
    `/** A. */\nimport type { Pool } from 'pg'`,
    `src/adapters/sql/a.ts imports the package pg; allowed here: ${allowedIn('src/adapters/sql')}`,
  ],
  [
    'packages',
    'src/conformance/storage/a.ts',
    `/** A. */\nexport const a = () => import('node:fs')`,
    'src/conformance/storage/a.ts imports the package node:fs; allowed here: none',
  ],
  [
    'packages',
    'src/adapters/keys/a.ts',
    `/** A. */\nexport type A = import('@noble/ciphers/aes').A`,
    `src/adapters/keys/a.ts imports the package @noble/ciphers/aes; allowed here: ${allowedIn('src/adapters/keys')}`,
  ],
  [
    'entry points',
    'src/core/values/index.ts',
    '/** A. */',
    'src/core/values/index.ts is an index.ts without an entry point in package.json; import the file that declares the name',
  ],
  [
    'entry points are external',
    'src/adapters/sqlite/a.ts',
    `/** A. */\nimport { sqliteStorage } from './index.ts'\nexport const a = sqliteStorage`,
    'src/adapters/sqlite/a.ts imports the entry point src/adapters/sqlite/index.ts; import the file that declares the name',
  ],
  [
    'main entry point',
    'src/index.ts',
    '/** A. */\nexport const a = 1',
    'src/index.ts has code of its own; the main entry point only re-exports',
  ],
  [
    'core imports only core',
    'src/core/vault.ts',
    `/** A. */\nimport { ring } from '../adapters/keys/ring.ts'\nexport const vault = ring`,
    'src/core/vault.ts imports src/adapters/keys/ring.ts; core imports only core',
  ],
  [
    'layers',
    'src/core/values/text.ts',
    `/** A. */\nimport type { context } from '../execution/context.ts'\nexport const text = 1`,
    upward('src/core/values/text.ts', 'src/core/execution/context.ts'),
  ],
  [
    'layers',
    'src/core/values/text.ts',
    `/** A. */\nexport const text = async_(import('../tokens/coin.ts'))`,
    upward('src/core/values/text.ts', 'src/core/tokens/coin.ts'),
  ],
  [
    'known modules',
    'src/core/attic/a.ts',
    '/** A. */',
    'src/core/attic/a.ts is in no layer; add its module to the plan or move it',
  ],
  [
    'operations',
    'src/core/operations/insert.ts',
    `/** A. */\nexport { get as insert } from './get.ts'`,
    'src/core/operations/insert.ts imports src/core/operations/get.ts; operations do not import each other',
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
    'src/adapters/memory/a.ts imports src/core/schema/table.ts; adapters import only core/ports, core/errors and core/util',
  ],
  [
    'adapters',
    'src/adapters/memory/a.ts',
    `/** A. */\nimport type { body } from '../sql/body.ts'`,
    'src/adapters/memory/a.ts imports src/adapters/sql/body.ts; adapters do not import each other',
  ],
  [
    'conformance',
    'src/conformance/storage/a.ts',
    `/** A. */\nimport type { storage } from '../../adapters/memory/storage.ts'`,
    'src/conformance/storage/a.ts imports src/adapters/memory/storage.ts; a conformance suite imports only core/ports, core/errors and core/util',
  ],
  [
    'hosts',
    'src/http/route.ts',
    `/** A. */\nimport { VaultError } from '../core/errors.ts'`,
    'src/http/route.ts imports src/core/errors.ts; http is a user of the package, and imports only what the plan lists',
  ],
  [
    'composition root',
    'src/create-vault.ts',
    `/** A. */\n/** B. */\nexport { storage as createVault } from './adapters/memory/storage.ts'`,
    'src/create-vault.ts imports src/adapters/memory/storage.ts; it only connects the default keys and system ports to core',
  ],
  ['async', 'src/core/values/a.ts', '/** A. */\nexport const a = async () => 1', asynchronous('src/core/values/a.ts', 'async')],
  [
    'async',
    'src/core/values/a.ts',
    '/** A. */\nexport type A = Promise<string>',
    asynchronous('src/core/values/a.ts', 'Promise'),
  ],
  ...['Date.now', 'new Date()', 'Math.random', 'globalThis', 'process', 'Buffer'].map(
    (name): Violation => [
      'time and randomness',
      'src/core/vault.ts',
      `/** A. */\nexport const vault = ${name}`,
      `src/core/vault.ts uses ${name}; time, randomness and the system come in through ports`,
    ],
  ),
  ...['b.push(...c)', 'new Map(...b)', 'Math.max.apply(0, b)'].map(
    (call): Violation => [
      'spread arguments',
      'src/core/values/a.ts',
      `/** A. */\nexport const a = (b, c) => ${call}`,
      spread(call),
    ],
  ),
  [
    'spread arguments',
    'src/core/util/bytes.ts',
    '/** A. */\nexport const a = 1',
    'the plan allows String.fromCharCode(...units) in src/core/util/bytes.ts, which does not have it; remove it from the plan',
  ],
  [
    'import cycles',
    'src/core/values/text.ts',
    `/** A. */\nimport type { other } from './other.ts'\nexport const text = 1`,
    'src/core/values/text.ts -> src/core/values/other.ts -> src/core/values/text.ts is an import cycle; move what both need to a lower file',
  ],
  [
    'public docs',
    'src/core/ports/keys.ts',
    `/** A. */\nimport '../errors.ts'\nexport interface Key {}`,
    'src/core/ports/keys.ts declares Key without a doc comment, and src/index.ts exports it',
  ],
  [
    'audit verifier',
    'src/audit-verifier/a.ts',
    `/** A. */\nimport { storage } from '../adapters/memory/storage.ts'\nexport const a = storage`,
    'src/audit-verifier/a.ts imports src/adapters/memory/storage.ts; the audit verifier runs without a vault',
  ],
  ['public docs', 'src/create-vault.ts', '/** A. */', 'src/index.ts exports createVault, which no file declares'],
]

describe('module rules', () => {
  it('find nothing in a repository that breaks none', () => {
    expect(inspectModules(new Map(Object.entries(SAMPLE)), SAMPLE_ENTRY_POINTS)).toEqual([])
  })

  it.each(VIOLATIONS)('report %s with one sentence for %s', (_rule, path, text, sentence) => {
    const others = sentence.includes('cycle')
      ? { 'src/core/values/other.ts': `/** B. */\nexport { text as other } from './text.ts'` }
      : {}
    expect(inspectModules(new Map(Object.entries({ ...SAMPLE, ...others, [path]: text })), SAMPLE_ENTRY_POINTS)).toEqual([
      sentence,
    ])
  })

  it('report an entry point without a file', () => {
    const [sentence] = inspectModules(new Map(Object.entries(SAMPLE)), [...SAMPLE_ENTRY_POINTS, 'src/adapters/keys/index.ts'])
    expect(sentence).toBe('package.json names the entry point src/adapters/keys/index.ts, which does not exist')
  })

  it('report an import of the composition root by another file than the main entry point', () => {
    const text = `/** A. */\nimport { createVault } from '../create-vault.ts'\nexport const route = createVault`
    expect(inspectModules(new Map(Object.entries({ ...SAMPLE, 'src/http/route.ts': text })), SAMPLE_ENTRY_POINTS)).toContain(
      'src/http/route.ts imports src/create-vault.ts; only src/index.ts re-exports it',
    )
  })

  it('have a violation each in this file', () => {
    const broken = new Set<string>([...VIOLATIONS.map(([rule]) => rule), 'composition root is private'])
    expect(Object.keys(MODULE_RULES).filter((rule) => !broken.has(rule))).toEqual([])
  })

  it.each([
    ['a comment', `/** Never await: a Promise needs Date.now and globalThis. */\nexport const a = 1`],
    ['a string', `/** A. */\nexport const a = 'async import x from "pg" in process'`],
    ['a regular expression', `/** A. */\nexport const a = /['"] await Math.random() Buffer/`],
    ['a member name', `/** A. */\nexport const a = (b: { process: 1 }) => [b.process, { Buffer: 1 }]`],
    [
      'lists that are no arguments',
      `/** A. */\nexport const a = (...b: number[]) => [Math.max.apply(null, [1, 2]), [...b], { ...b }]`,
    ],
    ['a date from a number', `/** A. */\nexport const a = (b: number) => new Date(b)`],
  ])('are not broken by words in %s', (_where, text) => {
    expect(inspectModules(new Map(Object.entries({ ...SAMPLE, 'src/core/values/a.ts': text })), SAMPLE_ENTRY_POINTS)).toEqual([])
  })
})

/** The sentence for an import that does not go to a lower layer. */
function upward(from: string, to: string): string {
  return `${from} (layer ${layerOf(from)}) imports ${to} (layer ${layerOf(to)}); imports only go to lower layers`
}

/** The sentence for asynchronous code in a module that must have none. */
function asynchronous(path: string, word: string): string {
  return `${path} uses ${word}; in core only ${[...ASYNC_MODULES].join(', ')} are asynchronous`
}

/** The sentence for a list as the arguments of a call. */
function spread(call: string): string {
  return `src/core/values/a.ts passes a list as the arguments of ${call}; loop over it, use append, or say in the plan why it is short`
}

/** The packages that a folder may import, as the sentence lists them. */
function allowedIn(folder: string): string {
  return (PACKAGES[folder] ?? []).join(', ')
}

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
  return new Map(paths.filter((path) => /\.tsx?$/.test(path)).map((path) => [path, readFileSync(new URL(path, TOP), 'utf8')]))
}
