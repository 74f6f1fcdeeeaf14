/** Law: every random tampering of a record's rows is found by `verifyRecords`, except those that docs/security.md lists as not detectable. */
import type { Cell, Row, StorageHandle } from '../../src/core/ports/storage.ts'
import { isVaultError } from '../../src/index.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import { onFresh, openPlaces } from '../support/storages/places.ts'
import {
  move,
  openTampered,
  overwrite,
  personOf,
  RECORDS,
  rowOf,
  rowsOf,
  TOKENS,
  TRANSIENTS,
} from '../support/vaults/tampered-records.ts'
import type { Law } from './law.ts'

/** Records of a case, and how often each tampering has its turn. */
const COUNT = 8
const TURNS = 3

/** Whether a tampering can be found. */
export type Expected = 'found' | 'not detectable' | 'either'

/** Tampers with rows, and says whether that can be found. `older` are rows of the records before their last change. */
export type Tampering = (storage: StorageHandle, random: SeededRandom, older: readonly Row[]) => Promise<Expected>

const someId = (random: SeededRandom) => 1 + random.below(COUNT)

/** A cell unlike this one. */
function other(cell: Cell | undefined, random: SeededRandom): Cell {
  if (cell instanceof Uint8Array && cell.length > 0) {
    const bad = cell.slice()
    const at = random.below(bad.length)
    bad[at] = (bad[at] ?? 0) ^ (1 << random.below(8))
    return random.pick([bad, cell.slice(0, at), Uint8Array.of(...cell, 0), null])
  }
  return typeof cell === 'string' ? `${cell}!` : random.bytes(12)
}

const TAMPERINGS: Readonly<Record<string, Tampering>> = {
  async 'changes a body'(storage, random) {
    const id = someId(random)
    await overwrite(storage, RECORDS, id, { body: other((await rowOf(storage, RECORDS, id)).body, random) })
    return 'found'
  },
  async 'copies a body to another row'(storage, random) {
    const [from = 1, to = 2] = random.sample([1, 2, 3, 4, 5, 6, 7, 8], 2)
    await overwrite(storage, RECORDS, to, { body: (await rowOf(storage, RECORDS, from)).body ?? null })
    return 'found'
  },
  async 'changes, clears or sets a digest'(storage, random) {
    const id = someId(random)
    const row = await rowOf(storage, RECORDS, id)
    const column = random.pick(Object.keys(row).filter((name) => name.startsWith('digest_')))
    await overwrite(storage, RECORDS, id, { [column]: other(row[column], random) })
    return 'found'
  },
  async 'swaps all digests of two rows'(storage, random) {
    const [left = 1, right = 2] = random.sample([1, 2, 3, 4, 5, 6, 7, 8], 2)
    const digests = (row: Row) => Object.fromEntries(Object.entries(row).filter(([name]) => name.startsWith('digest_')))
    const [one, two] = [digests(await rowOf(storage, RECORDS, left)), digests(await rowOf(storage, RECORDS, right))]
    await overwrite(storage, RECORDS, left, Object.fromEntries(Object.keys(one).map((name) => [name, null])))
    await overwrite(storage, RECORDS, right, one)
    await overwrite(storage, RECORDS, left, two)
    return 'found'
  },
  async 'moves a row'(storage, random) {
    await move(storage, RECORDS, someId(random), 100 + random.below(100))
    return 'found'
  },
  async 'changes or deletes a stored token'(storage, random) {
    const { id, digest } = random.pick(await rowsOf(storage, TOKENS))
    const set = random.pick<Record<string, Cell> | undefined>([
      undefined,
      { digest: other(digest, random) },
      { row_id: 500 + random.below(9) },
      { row_id: null },
      { object_id: 4000 },
      { object_id: null },
    ])
    if (set === undefined) await storage.delete(TOKENS, { ids: [id] })
    else await overwrite(storage, TOKENS, id, set)
    return 'found'
  },
  async 'changes, moves or deletes a transient value'(storage, random) {
    const { id, body } = random.pick(await rowsOf(storage, TRANSIENTS))
    const kind = random.below(4)
    if (kind === 0) await storage.delete(TRANSIENTS, { ids: [id] })
    else if (kind === 1) await move(storage, TRANSIENTS, id, 100 + random.below(100))
    else if (kind === 2) await overwrite(storage, TRANSIENTS, id, { body: other(body, random) })
    else await overwrite(storage, TRANSIENTS, id, { expires_at: random.below(1_000_000) })
    return 'found'
  },
  async 'changes a plain value that has a digest'(storage, random) {
    const id = someId(random)
    const row = await rowOf(storage, RECORDS, id)
    const column = Object.keys(row).find((name) => name.startsWith('plain_') && name.endsWith('_city')) ?? ''
    await overwrite(storage, RECORDS, id, { [column]: typeof row[column] === 'string' ? other(row[column], random) : 'a city' })
    return 'found'
  },
  async 'changes a plain value without a digest'(storage, random) {
    const id = someId(random)
    const row = await rowOf(storage, RECORDS, id)
    const column = Object.keys(row).find((name) => name.startsWith('plain_') && name.endsWith('_badge')) ?? ''
    await overwrite(storage, RECORDS, id, { [column]: `changed ${random.below(1e9)}` })
    return 'not detectable'
  },
  async 'restores an older copy of a row'(storage, random, older) {
    const { id, version: _version, ...set } = random.pick(older)
    await overwrite(storage, RECORDS, id, set)
    return 'either' // Found only if the older record had other stored tokens or another transient value.
  },
  async 'deletes a row'(storage, random) {
    await storage.delete(RECORDS, { ids: [someId(random)] })
    return 'either' // Found only by the stored tokens that are left.
  },
}

/** Puts back every row as it was. */
async function restore(storage: StorageHandle, saved: ReadonlyMap<string, readonly Row[]>): Promise<void> {
  for (const [table, rows] of saved) {
    await storage.delete(table, { filter: { kind: 'all' } })
    await storage.insert(table, rows)
  }
}

/** A vault, each tampering in turn and its verdict, and every row put back. Returns the number of tamperings. Rejects if a verdict is wrong. */
export async function tamperRecords(
  storage: StorageHandle,
  random: SeededRandom,
  tamperings: Readonly<Record<string, Tampering>> = TAMPERINGS,
): Promise<number> {
  const { vault, session, records } = await openTampered(storage, COUNT, { audit: 'off' })
  // Updates leave rows whose cells and tokens were written at different times, and one record has no values with digests.
  const older = await rowsOf(storage, RECORDS)
  for (const [number, { id }] of records.entries()) {
    const { name, code, card } = personOf(number + 50)
    await session.updateOne('people', id, number % 2 === 0 ? { name, code } : { card })
  }
  await session.updateOne('people', records[7]?.id ?? '', { email: null, code: null, city: null, pin: null })
  const tables = [RECORDS, TOKENS, TRANSIENTS]
  const saved = new Map(await Promise.all(tables.map(async (table) => [table, await rowsOf(storage, table)] as const)))
  const turns = Array.from({ length: TURNS }, () => Object.entries(tamperings)).flat()
  for (const [turn, [name, tamper]] of turns.entries()) {
    const before = await vault.verifyRecords()
    if (!before.ok || before.recordCount !== COUNT) throw new Error(`before one ${name}: ${JSON.stringify(before)}`)
    const expected = await tamper(storage, random.fork(`${turn}`), older).catch((error: unknown) => {
      if (isVaultError(error, 'conflict')) return 'either' // Storage refused the tampering.
      throw error
    })
    const result = JSON.stringify(await vault.verifyRecords())
    const isFound = !result.startsWith('{"ok":true')
    if (expected !== 'either' && isFound !== (expected === 'found')) throw new Error(`one ${name}: ${result}`)
    if (/canary|supplied/.test(result)) throw new Error(`one ${name}: the result shows a value`)
    await restore(storage, saved)
  }
  await vault.close()
  return turns.length
}

export const recordTampering: Law = {
  name: 'record-tampering',
  statement: 'Verification of records finds every tampering with their rows that can be found',
  unit: 'tamperings',
  figures: { test: 320, soak: 32_000 },
  weight: 1,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      check({ number, random }) {
        const engine = { 3: places.sqlite, 7: places.postgres }[number % 8] ?? places.memory
        return onFresh(engine, (place) => tamperRecords(place.open(), random))
      },
      close: () => places.close(),
    }
  },
}
