/** Law: no verb holds the event loop for long, with as many items, refused items and members of JSON values as its limits allow. */
import { longestHold } from '../../benchmarks/measuring/event-loop-watch.ts'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import { column, createVault, defineSchema, type Session, type Vault } from '../../src/index.ts'
import { seededRandom } from '../support/random/seeded-random.ts'
import { engineInTurn, onFresh, openPlaces } from '../support/storages/places.ts'
import { OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'
import type { Law } from './law.ts'

/** The default limits: of items, and of the members of a value; ten such values fit into a request. */
const ITEMS = 1000
const MEMBERS = 10_000
const FULL = 10
/**
 * Milliseconds of CPU. The promise is 50, on a machine with nothing else to do. On a busy one the same work takes some two times as long; what the law was made for
 * took 400 and more.
 */
const MAX_HOLD = 200
/** The same of merges of indexes, which go on in the background. On a busy machine they take 23 to 34, and 57 the first time; merged at once, 200 and more. */
const MAX_MERGE_HOLD = 80
/** A hold can meet a collection of garbage, so the shortest of several counts. */
const ROUNDS = 3

const shown = { redaction: 'PLAIN_TEXT' } as const
export const schema = defineSchema({
  people: {
    email: column.string({ ...shown, unique: true, token: 'deterministic' }),
    name: column.string({ ...shown, token: 'random' }),
    size: column.integer(shown),
  },
  indexed: {
    size: column.integer({ ...shown, index: 'sealed' }),
    note: column.string({ ...shown, index: { sealed: ['contains'] } }),
  },
  docs: { json: column.json({ ...shown, searchable: true, token: 'deterministic' }) },
})
type Tables = (typeof schema)['tables']

/** A vault with as many records as a request can name. */
interface World {
  readonly vault: Vault<Tables>
  readonly session: Session<Tables>
  readonly ids: readonly string[]
  readonly tokens: readonly string[]
  /** The round, which makes values new. */
  readonly round: number
}

const UNKNOWN_ID = '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11'
const indexes = Array.from({ length: ITEMS }, (_, index) => index)
const emails = indexes.map((index) => `p${index}@acme.example`)
const fieldsOf = (email: string) => ({ email, name: `name of ${email}`, size: 1 })
/** New people, of whom every second has an email that is taken. */
const halfTaken = (round: number) => emails.map((email, index) => fieldsOf(index % 2 === 0 ? email : `r${round}.${email}`))
const halfUnknown = (ids: readonly string[]) => ids.map((id, index) => (index % 2 === 0 ? id : UNKNOWN_ID))
/** A value of as many members as one can have, with names of its own. */
const fullJson = (seed: number) =>
  Object.fromEntries(Array.from({ length: MEMBERS - 1 }, (_, index) => [`member ${seed} ${index}`, index]))
const fullDocs = (round: number) => Array.from({ length: FULL }, (_, index) => ({ json: fullJson(FULL * round + index) }))
/** Stores full documents once, for the calls that read them. */
async function fillDocs(session: Session<Tables>, round: number): Promise<void> {
  const docs = fullDocs(0).map((fields) => ({ fields }))
  if (round === 1) await session.insert('docs', docs)
}
const GO_ON = { continueOnError: true } as const

/** Makes the input of a call, and returns the call. */
type Call = (world: World) => (() => Promise<unknown>) | Promise<() => Promise<unknown>>

/** Texts of so many letters have about as many entries. A delta is opened in one piece, so each has few. */
const LETTERS = 300
const COMMITS = 40

/** Merges indexes. */
export const compactsIndexes: Call = async ({ vault, session, round }) => {
  const random = seededRandom(`loop-holds ${round}`)
  const letters = () => Array.from({ length: LETTERS }, () => String.fromCharCode(97 + random.below(26))).join('')
  const notes = Array.from({ length: ITEMS / COMMITS }, (_, size) => ({ fields: { size, note: letters() } }))
  for (let commit = 0; commit < COMMITS; commit++) await session.insert('indexed', notes)
  return () => vault.compact()
}

/** The calls, each with the largest input of its verb. */
const CALLS: readonly Call[] = [
  ({ session, round }) =>
    () =>
      session.batch(
        halfTaken(round).map((fields) => ({ insert: 'people', fields }) as const),
        GO_ON,
      ),
  ({ session, ids }) =>
    () =>
      session.batch(
        halfUnknown(ids).map((id) => ({ update: 'people', id, fields: { size: 2 } }) as const),
        GO_ON,
      ),
  ({ session, ids }) =>
    () =>
      session.batch(
        halfUnknown(ids).map((id) => ({ get: 'people', id }) as const),
        GO_ON,
      ),
  ({ session, ids }) =>
    () =>
      session.batch(
        halfUnknown(ids).map((id) => ({ delete: 'people', id }) as const),
        GO_ON,
      ),
  ({ session, round }) => {
    const docs = fullDocs(round)
    return () =>
      session.insert(
        'docs',
        docs.map((fields) => ({ fields })),
      )
  },
  ({ session, round }) => {
    const docs = fullDocs(round)
    return () => session.batch(docs.map((fields) => ({ insert: 'docs', fields }) as const))
  },
  async ({ session, round }) => {
    await fillDocs(session, round)
    const values = fullDocs(0).map(({ json }) => json)
    return () => session.get('docs', { where: { json: values } })
  },
  async ({ session, round }) => {
    await fillDocs(session, round)
    const values = fullDocs(0).map(({ json }) => ({ table: 'docs', column: 'json', value: json }) as const)
    return () => session.tokenize(values)
  },
  async ({ session, round }) => {
    await fillDocs(session, round)
    const json = fullJson(-1)
    const values = fullDocs(0).map((doc) => doc.json)
    return () => session.updateWhere('docs', { json: values.slice(1) }, { json })
  },
  async ({ session, round }) => {
    await fillDocs(session, round)
    return () => session.query('SELECT json FROM docs')
  },
  ({ session, round }) =>
    () =>
      session.insert(
        'people',
        emails.map((email) => ({ fields: fieldsOf(`n${round}.${email}`) })),
      ),
  ({ session }) =>
    () =>
      session.insert(
        'people',
        emails.map((email) => ({ fields: fieldsOf(email) })),
        { upsert: 'email' },
      ),
  ({ session, round }) =>
    () =>
      session.insert(
        'people',
        halfTaken(round).map((fields) => ({ fields })),
        { onConflict: 'ignore' },
      ),
  ({ session, ids }) =>
    () =>
      session.update(
        'people',
        ids.map((id) => ({ id, fields: { name: 'another' } })),
      ),
  ({ session }) =>
    () =>
      session.updateWhere('people', { email: emails }, { size: 3 }),
  ({ session, ids }) =>
    () =>
      session.get('people', { ids }),
  ({ session }) =>
    () =>
      session.get('people', { where: { email: emails }, limit: ITEMS }),
  ({ session, tokens }) =>
    () =>
      session.detokenize(tokens.map((token) => ({ token }))),
  ({ session, tokens }) =>
    () =>
      session.getByTokens(tokens),
  ({ session }) =>
    () =>
      session.deleteWhere('people', { email: emails }),
  ({ session, ids }) =>
    () =>
      session.delete('people', ids),
  compactsIndexes,
]

export const loopHolds: Law = {
  name: 'loop-holds',
  statement: 'No verb holds the event loop for long with the largest input that its default limits allow, refused items included',
  unit: 'calls',
  figures: { test: CALLS.length, soak: 10_000 },
  weight: 1,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      async check({ number }) {
        const call = CALLS[number % CALLS.length]
        if (call === undefined) return 0
        await onFresh(
          // Neighbors are of two engines, and each call has another engine in the next round.
          engineInTurn(places, number + Math.floor(number / CALLS.length), ['sqlite', 'postgres', 'memory']),
          async (place) => {
            const vault = await createVault({ id: 'v1', schema, storage: place.open(), keys: localKeys({ key: TEST_SECRET }) })
            await checkHold(vault, call).finally(() => vault.close())
          },
        )
        return 1
      },
      close: () => places.close(),
    }
  },
}

/** Throws if a call holds the event loop for too long in each of some rounds. */
export async function checkHold(vault: Vault<Tables>, call: Call): Promise<void> {
  const session = vault.as(OWNER)
  let shortest = Number.POSITIVE_INFINITY
  const max = call === compactsIndexes ? MAX_MERGE_HOLD : MAX_HOLD
  for (let round = 1; round <= ROUNDS && shortest > max / 2; round++) {
    const people = emails.map((email) => ({ fields: fieldsOf(email) }))
    const { records } = await session.insert('people', people, { upsert: 'email', tokenization: true })
    const ids = records.map(({ id }) => id ?? '')
    const tokens = records.map(({ tokens }) => tokens?.email ?? '')
    const run = await call({ vault, session, ids, tokens, round })
    shortest = Math.min(shortest, (await longestHold(run)).cpu)
  }
  if (shortest > max) throw new Error(`${call} held the event loop for ${shortest} ms of CPU`)
}
