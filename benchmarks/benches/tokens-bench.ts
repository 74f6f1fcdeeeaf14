/** Bench: tokens of every kind, minted by inserts and resolved, alone and 1,000 at a time, against one indexed plaintext column. */
import { localKeys } from '../../src/adapters/keys/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { column, createVault, defineSchema, type TokenDefinition } from '../../src/index.ts'
import type { Entry } from '../entries.ts'
import { openSqliteTokenColumn } from '../floors/sqlite-token-column.ts'
import { compare, measure, type Variant } from '../harness.ts'
import { BATCH, type Bench, type Scope } from '../scope.ts'
import { OWNER, SECRET } from '../vaults.ts'
import { assertSame, drawPositions } from './filled-readers.ts'

/** Every kind, over values of 16 digits. */
const KINDS: readonly (readonly [name: string, definition: TokenDefinition])[] = [
  ['random', 'random'],
  ['deterministic', 'deterministic'],
  ['format preserving', { kind: 'formatPreserving', format: 'digits' }],
  ['deterministic format preserving', { kind: 'deterministicFormatPreserving', format: 'digits' }],
  ['transient', 'transient'],
]

/** Rows each store begins with: enough for an index to have depth, few enough to fill six stores in seconds. */
const MOST_ROWS = 20_000
/** Inserts alone in one timed run, each with a commit of its own, for each caller of the concurrent bench. */
const ALONE = 4

/** Ours with one kind, or the floor. */
interface TokenStore {
  readonly name: string
  mint(values: readonly string[]): Promise<readonly string[]> | readonly string[]
  mintOne(value: string): unknown
  resolve(tokens: readonly string[]): Promise<readonly string[]> | readonly string[]
  /** The same, recorded nowhere: a read alone would only tell how long the disk takes. */
  resolveUnaudited(tokens: readonly string[]): Promise<readonly string[]> | readonly string[]
  close(): unknown
}

/** A store, what it holds, and the tokens it answered for it. */
interface FilledStore extends TokenStore {
  readonly values: readonly string[]
  readonly tokens: readonly string[]
}

export const tokensBench: Bench = {
  names: ['tokens'],
  async run(scope) {
    if (!scope.has('sqlite')) return []
    const stores: FilledStore[] = []
    try {
      for (const [name, definition] of KINDS) stores.push(await fillStore(scope, await openKind(scope, name, definition)))
      stores.push(await fillStore(scope, openFloor(scope)))
      for (const store of stores) await assertResolves(store)
      return [
        ...(await compareStores(scope, stores, 'mint', (store) => mintVariant(scope, store))),
        ...(await compareStores(scope, stores, 'mint alone', (store) => mintAloneVariant(scope, store))),
        ...(await compareStores(scope, stores, 'resolve', (store) => resolveVariant(scope, store, BATCH))),
        ...(await compareStores(scope, stores, 'resolve alone, audit off', (store) => resolveVariant(scope, store, 1))),
      ]
    } finally {
      for (const store of stores) await store.close()
    }
  },
}

/** All stores in turns; the last one is the floor of all others. */
async function compareStores(
  scope: Scope,
  stores: readonly FilledStore[],
  verb: string,
  toVariant: (store: FilledStore) => Variant,
) {
  const measured = await measure(stores.map(toVariant), scope.scale.timing)
  const floor = measured.at(-1)
  const entries: Entry[] = []
  for (const ours of measured.slice(0, -1)) {
    if (floor === undefined) continue
    entries.push(compare({ bench: `${verb}: ${ours.name}`, storage: 'sqlite', rows: rowsOf(scope) }, ours, floor))
  }
  return entries
}

function rowsOf({ scale }: Scope): number {
  return Math.min(MOST_ROWS, scale.rows)
}

async function openKind({ places }: Scope, name: string, token: TokenDefinition): Promise<TokenStore> {
  const schema = defineSchema({ cards: { number: column.string({ token }) } })
  const storage = sqliteStorage({ filename: places.sqliteFile() })
  const options = { id: 'bench', schema, storage, keys: localKeys({ secret: SECRET }) }
  const vault = await createVault(options)
  const session = vault.as(OWNER)
  const unaudited = (await createVault({ ...options, audit: 'off' })).as(OWNER)
  const mint = async (values: readonly string[]): Promise<string[]> => {
    const fields = values.map((number) => ({ fields: { number } }))
    const { records } = await session.insert('cards', fields, { tokenization: true })
    return records.map(({ tokens }) => tokens.number ?? '')
  }
  const resolveAs = async ({ detokenize }: typeof session, tokens: readonly string[]): Promise<string[]> => {
    const { records } = await detokenize(tokens.map((token) => ({ token, redaction: 'PLAIN_TEXT' as const })))
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

function openFloor({ places }: Scope): TokenStore {
  const floor = openSqliteTokenColumn(places.sqliteFile())
  const name = 'plaintext, indexed token column'
  return { ...floor, name, mint: floor.insert, mintOne: floor.insertOne, resolveUnaudited: floor.resolve }
}

async function fillStore(scope: Scope, store: TokenStore): Promise<FilledStore> {
  const values: string[] = []
  const tokens: string[] = []
  while (values.length < rowsOf(scope)) {
    const batch = drawNumbers(scope, BATCH)
    values.push(...batch)
    tokens.push(...(await store.mint(batch)))
  }
  return { ...store, values, tokens }
}

/** Throws unless the first and the last token lead to their values. */
async function assertResolves({ values, tokens, resolve }: FilledStore): Promise<void> {
  const ends = [0, tokens.length - 1]
  const found = await resolve(ends.map((place) => tokens[place] ?? ''))
  assertSame(
    found,
    ends.map((place) => values[place]),
  )
}

/** Numbers of 16 digits, as a request brings them. */
function drawNumbers({ people }: Scope, count: number): string[] {
  const eight = (): string => String(people.below(10 ** 8)).padStart(8, '0')
  return JSON.parse(JSON.stringify(Array.from({ length: count }, () => eight() + eight())))
}

function mintVariant(scope: Scope, store: FilledStore): Variant {
  let inHand: string[][] = []
  return {
    name: store.name,
    prepare() {
      inHand = Array.from({ length: scope.scale.batches }, () => drawNumbers(scope, BATCH))
    },
    async run() {
      for (const values of inHand) await store.mint(values)
      return inHand.length * BATCH
    },
  }
}

function mintAloneVariant(scope: Scope, store: FilledStore): Variant {
  let inHand: string[] = []
  return {
    name: store.name,
    prepare() {
      inHand = drawNumbers(scope, scope.scale.insertsPerCaller * ALONE)
    },
    async run() {
      for (const value of inHand) await store.mintOne(value)
      return inHand.length
    },
  }
}

function resolveVariant(scope: Scope, store: FilledStore, length: number): Variant {
  let lists: string[][] = []
  return {
    name: store.name,
    prepare() {
      lists = drawPositions(scope, store.tokens.length, length).map((list) => list.map((place) => store.tokens[place] ?? ''))
    },
    run() {
      return resolveLists(store, lists, length)
    },
  }
}

/** List after list, waiting only where the answer comes later: a driver that answers at once is not charged for waiting. */
async function resolveLists(store: FilledStore, lists: readonly (readonly string[])[], length: number): Promise<number> {
  const resolve = length === 1 ? store.resolveUnaudited : store.resolve
  for (const tokens of lists) {
    const answer = resolve(tokens)
    if (answer instanceof Promise) await answer
  }
  return lists.length * length
}
