/** Law: a stored body that was changed or moved fails authentication, and other records stay readable. */
import { expect } from 'vitest'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import type { Row, StorageHandle } from '../../src/core/ports/storage.ts'
import { column, createVault, defineSchema, type Session } from '../../src/index.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import { onFresh, openPlaces, type Place } from '../support/storages/places.ts'
import { OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'
import type { Law } from './law.ts'

/** Changes of one body in a case, besides three moves. */
const ROUNDS = 100
const MOVES = 3

export const SECRET = 'canary-4711'
export const LEFTS = 'records_1_lefts'
const RIGHTS = 'records_3_rights'

export const tamperSchema = defineSchema({
  lefts: { secret: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }) },
  rights: { secret: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }) },
})
type Tables = (typeof tamperSchema)['tables']

const REFUSED = { code: 'data_loss', grpcCode: 15 }

export const tamper: Law = {
  name: 'tamper',
  statement: 'A stored body with a flipped bit, cut, extended, or moved to another row, table or vault is refused',
  unit: 'tamperings',
  figures: { test: 2500, soak: 1_000_000 },
  weight: 1,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      async check({ number, random }) {
        const engine = { 7: places.sqlite, 15: places.postgres }[number % 16] ?? places.memory
        await onFresh(engine, (place) => onFresh(engine, (other) => tamperWith(place, other, { number, random })))
        return ROUNDS + MOVES
      },
      close: () => places.close(),
    }
  },
}

async function tamperWith(
  place: Place,
  elsewhere: Place,
  { number, random }: { readonly number: number; readonly random: SeededRandom },
): Promise<void> {
  const storage = place.open()
  const session = await openSession(storage, 'v1')
  const fields = { secret: SECRET }
  const { records } = await session.insert('lefts', [{ fields }, { fields: { secret: 'sibling' } }], { tokenization: true })
  const [victim, sibling] = records
  const body = await bodyOf(storage, LEFTS, 1)
  for (let round = 0; round < ROUNDS; round++) {
    await putBody(storage, LEFTS, { id: 1, body: tampered(body, number * ROUNDS + round, random) })
    const refused = await session.getOne('lefts', victim?.id ?? '').catch((error: unknown) => error)
    expect(refused).toMatchObject({ ...REFUSED, details: [{ table: 'lefts' }] })
    expect(JSON.stringify(refused) + String(refused)).not.toContain('canary')
  }
  const both = [victim, sibling].map((record) => ({ token: record?.tokens.secret ?? '' }))
  const { records: resolved } = await session.detokenize(both, { continueOnError: true })
  expect(resolved[0]).toMatchObject({ valueType: 'NONE', value: '', error: expect.stringContaining('failed authentication') })
  expect(resolved[1]).toMatchObject({ value: 'sibling' })
  await expect(session.detokenize(both)).rejects.toMatchObject(REFUSED)
  await expect(session.updateOne('lefts', victim?.id ?? '', { secret: 'new' })).rejects.toMatchObject(REFUSED)
  await putBody(storage, LEFTS, { id: 1, body })
  await moveBody(session, { storage, body, elsewhere: elsewhere.open() })
  expect((await session.getOne('lefts', victim?.id ?? '')).fields.secret).toBe(SECRET)
  await putBody(storage, LEFTS, { id: 1, body: tampered(body, 0, random) })
  await expect(session.deleteOne('lefts', victim?.id ?? '')).resolves.toBeDefined()
}

interface Move {
  readonly storage: StorageHandle
  readonly body: Uint8Array
  readonly elsewhere: StorageHandle
}

/** Copies the body of row 1 to another row, table and vault. */
async function moveBody(session: Session<Tables>, { storage, body, elsewhere }: Move): Promise<void> {
  const fields = { secret: SECRET }
  const other = await openSession(elsewhere, 'v2')
  const row = await session.insert('lefts', [{ fields }])
  const table = await session.insert('rights', [{ fields }])
  const vault = await other.insert('lefts', [{ fields }])
  const rows = await storage.find(LEFTS, { kind: 'all' }, { order: 'desc', limit: 1 })
  await putBody(storage, LEFTS, { id: rows[0]?.id ?? 0, body })
  await putBody(storage, RIGHTS, { id: 1, body })
  await putBody(elsewhere, LEFTS, { id: 1, body })
  await expect(session.getOne('lefts', row.records[0]?.id ?? '')).rejects.toMatchObject(REFUSED)
  await expect(session.getOne('rights', table.records[0]?.id ?? '')).rejects.toMatchObject(REFUSED)
  await expect(other.getOne('lefts', vault.records[0]?.id ?? '')).rejects.toMatchObject(REFUSED)
}

async function openSession(storage: StorageHandle, id: string): Promise<Session<Tables>> {
  const vault = await createVault({ id, schema: tamperSchema, storage, keys: localKeys({ key: TEST_SECRET }) })
  return vault.as(OWNER)
}

/** The sealed body of a row. */
export async function bodyOf(storage: StorageHandle, table: string, id: number): Promise<Uint8Array> {
  const { body } = await rowOf(storage, table, id)
  if (body instanceof Uint8Array) return body
  throw new Error('nothing was sealed')
}

async function rowOf(storage: StorageHandle, table: string, id: number): Promise<Row> {
  const [row] = await storage.get(table, [id])
  if (row === undefined) throw new Error('the row to tamper with is gone')
  return row
}

/** Replaces the sealed body of a row. */
export async function putBody(
  storage: StorageHandle,
  table: string,
  { id, body }: { readonly id: number; readonly body: Uint8Array },
): Promise<void> {
  const { version } = await rowOf(storage, table, id)
  expect(await storage.update(table, [{ id, version, set: { body } }])).toEqual([true])
}

/** One flipped bit, a truncation, an extra byte, or no bytes. Rounds in a row flip every bit of a body in turn. */
function tampered(body: Uint8Array, round: number, random: SeededRandom): Uint8Array {
  if (round % 50 === 48) return body.slice(0, random.below(body.length))
  if (round % 50 === 49) return Uint8Array.of(...body, 0)
  const bad = body.slice()
  const bit = random.chance(0.5) ? round % (body.length * 8) : random.below(body.length * 8)
  bad[bit >> 3] = (bad[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return bad
}
