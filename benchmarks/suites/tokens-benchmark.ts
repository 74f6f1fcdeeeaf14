/** Benchmark: mints and resolves tokens of every kind, one and 1,000 per call, against one indexed plaintext column. */
import { localKeys } from '../../src/adapters/keys/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { at, required } from '../../src/core/util/lists.ts'
import { column, createVault, defineSchema, type TokenDefinition } from '../../src/index.ts'
import { openSqliteTokenColumn } from '../baselines/sqlite-token-column.ts'
import { OWNER, SECRET, VAULT } from '../fixtures/people-vaults.ts'
import { assertSame, randomPositions } from '../measuring/check-reads.ts'
import { compare } from '../measuring/compare.ts'
import { measure, probed, type Variant } from '../measuring/harness.ts'
import { sequentialCalls } from '../measuring/sequential-calls.ts'
import type { Entry } from '../report/result-shape.ts'
import { BATCH, type Benchmark, type RunConfig } from '../runner/run-config.ts'

/** Every kind, over values of 16 digits. */
const KINDS: readonly (readonly [name: string, definition: TokenDefinition])[] = [
  ['random', 'random'],
  ['deterministic', 'deterministic'],
  ['format preserving', { kind: 'formatPreserving', format: 'digits' }],
  ['deterministic format preserving', { kind: 'deterministicFormatPreserving', format: 'digits' }],
  ['transient', 'transient'],
]

/** Minimum ratios, by verb and kind. */
const TARGETS: Readonly<Record<string, number>> = {
  'mint: format preserving': 0.6,
  'mint: deterministic format preserving': 0.6,
  'resolve: deterministic': 0.3,
  'resolve: deterministic format preserving': 0.2,
}

/** Rows in each store at the start: enough to give an index depth, few enough to fill six stores in seconds. */
const MAX_ROWS = 20_000
/** Inserts of one value in one timed run, times `insertsPerCaller`. Each has its own commit. */
const SINGLE_INSERTS = 4

type Resolve = (tokens: readonly string[]) => Promise<readonly string[]> | readonly string[]

/** A vault with one kind of token, or the baseline. */
interface TokenStore {
  readonly name: string
  mint(values: readonly string[]): Promise<readonly string[]> | readonly string[]
  mintOne(value: string): unknown
  readonly resolve: Resolve
  /** The same with audit off. A single audited read would measure only the disk. */
  readonly resolveUnaudited: Resolve
  close(): unknown
}

/** A store with its values and their tokens, in the same order. */
interface FilledStore extends TokenStore {
  readonly values: readonly string[]
  readonly tokens: readonly string[]
}

export const tokensBenchmark: Benchmark = {
  names: ['tokens'],
  storages: { sqlite: (config) => measureOnSqlite(config, 'every kind') },
  quick: { sqlite: (config) => measureOnSqlite(config, 'kinds with a target') },
}

async function measureOnSqlite(config: RunConfig, scope: 'every kind' | 'kinds with a target'): Promise<Entry[]> {
  const isQuick = scope === 'kinds with a target'
  const stores: FilledStore[] = []
  try {
    for (const [name, definition] of isQuick ? KINDS.filter(hasTargets) : KINDS)
      stores.push(await fillStore(config, await openKind(config, name, definition)))
    stores.push(await fillStore(config, openBaseline(config)))
    for (const store of stores) await assertResolves(store)
    const compareAll = (verb: string, toVariant: (store: FilledStore) => Variant) =>
      compareStores(config, verb, stores.map(toVariant))
    const lists = [
      ...(await compareAll('mint', (store) => mintBatches(config, store))),
      ...(await compareAll('resolve', (store) => resolveLists(config, store, BATCH))),
    ]
    if (isQuick) return lists.filter(({ target }) => target !== undefined)
    return [
      ...lists,
      ...(await compareAll('mint alone', (store) => mintSingles(config, store))),
      ...(await compareAll('resolve alone, audit off', (store) => resolveLists(config, store, 1))),
    ]
  } finally {
    for (const store of stores) await store.close()
  }
}

/** Measures all variants in the same rounds. The last one is the baseline of all others. */
async function compareStores(config: RunConfig, verb: string, variants: readonly Variant[]): Promise<Entry[]> {
  const measured = await measure(variants, config.scale.timing)
  const baseline = at(measured, measured.length - 1)
  const entries: Entry[] = []
  for (const [index, ours] of measured.slice(0, -1).entries()) {
    const benchmark = `${verb}: ${ours.name}`
    const subject = { benchmark, storage: 'sqlite', rows: rowsOf(config) } as const
    const target = TARGETS[benchmark]
    const withTarget = target === undefined ? subject : { ...subject, target }
    entries.push(compare(withTarget, await probed(at(variants, index), ours), baseline))
  }
  return entries
}

function hasTargets([name]: readonly [string, TokenDefinition]): boolean {
  return ['mint', 'resolve'].some((verb) => TARGETS[`${verb}: ${name}`] !== undefined)
}

function rowsOf({ scale }: RunConfig): number {
  return Math.min(MAX_ROWS, scale.rows)
}

async function openKind({ environments }: RunConfig, name: string, token: TokenDefinition): Promise<TokenStore> {
  const schema = defineSchema({ cards: { number: column.string({ token }) } })
  const storage = sqliteStorage({ filename: environments.sqliteFile() })
  const options = { id: VAULT, schema, storage, keys: localKeys({ key: SECRET }) }
  const vault = await createVault(options)
  const session = vault.as(OWNER)
  const unaudited = (await createVault({ ...options, audit: 'off' })).as(OWNER)
  const mint = async (values: readonly string[]): Promise<string[]> => {
    const fields = values.map((number) => ({ fields: { number } }))
    const { records } = await session.insert('cards', fields, { tokenization: true })
    return records.map(({ tokens }) => required(tokens.number, 'the token of "number"'))
  }
  const resolveAs = async ({ detokenize }: typeof session, tokens: readonly string[]): Promise<string[]> => {
    const { records } = await detokenize(tokens.map((one) => ({ token: one, redaction: 'PLAIN_TEXT' as const })))
    return records.map(({ value }) => value)
  }
  return {
    name,
    mint,
    mintOne: (value) => mint([value]),
    resolve: (tokens) => resolveAs(session, tokens),
    resolveUnaudited: (tokens) => resolveAs(unaudited, tokens),
    close: () => vault.close(),
  }
}

function openBaseline({ environments }: RunConfig): TokenStore {
  const { insert, insertOne, resolve, close } = openSqliteTokenColumn(environments.sqliteFile())
  const name = 'plaintext, indexed token column'
  return { name, mint: insert, mintOne: insertOne, resolve, resolveUnaudited: resolve, close }
}

async function fillStore(config: RunConfig, store: TokenStore): Promise<FilledStore> {
  const values: string[] = []
  const tokens: string[] = []
  while (values.length < rowsOf(config)) {
    const batch = randomNumbers(config, BATCH)
    values.push(...batch)
    tokens.push(...(await store.mint(batch)))
  }
  return { ...store, values, tokens }
}

/** Throws unless the first and the last token resolve to their values. */
async function assertResolves({ values, tokens, resolve }: FilledStore): Promise<void> {
  const ends = [0, tokens.length - 1]
  assertSame(
    await resolve(ends.map((position) => at(tokens, position))),
    ends.map((position) => at(values, position)),
  )
}

/** Numbers of 16 digits, parsed from JSON as in a request. */
function randomNumbers({ people }: RunConfig, count: number): string[] {
  const eight = (): string => String(people.below(10 ** 8)).padStart(8, '0')
  return JSON.parse(JSON.stringify(Array.from({ length: count }, () => eight() + eight())))
}

function mintBatches(config: RunConfig, { name, mint }: FilledStore): Variant {
  return sequentialCalls({
    name,
    prepareItems: () => Array.from({ length: config.scale.batches }, () => randomNumbers(config, BATCH)),
    call: mint,
    operationsPerCall: BATCH,
  })
}

function mintSingles(config: RunConfig, { name, mintOne }: FilledStore): Variant {
  const count = config.scale.insertsPerCaller * SINGLE_INSERTS
  return sequentialCalls({ name, prepareItems: () => randomNumbers(config, count), call: mintOne })
}

function resolveLists(config: RunConfig, store: FilledStore, length: number): Variant {
  const { name, tokens, resolve, resolveUnaudited } = store
  return sequentialCalls({
    name,
    prepareItems: () =>
      randomPositions(config, tokens.length, length).map((positions) => positions.map((position) => at(tokens, position))),
    call: length === 1 ? resolveUnaudited : resolve,
    operationsPerCall: length,
  })
}
