/** Property: a stored body that was changed or moved fails authentication, and other records stay readable. */
import { expect, it } from 'vitest'
import { keyRingFactory } from '../../src/adapters/keys/key-ring-factory.ts'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import type { KeyRingFactory } from '../../src/core/ports/keys.ts'
import type { Row, StorageHandle } from '../../src/core/ports/storage.ts'
import { openVault } from '../../src/core/vault/vault.ts'
import type { Session } from '../../src/index.ts'
import { column, createVault, defineSchema } from '../../src/index.ts'
import { type SeededRandom, seededRandom } from '../support/random/seeded-random.ts'
import { onEachStorage } from '../support/storages/engines.ts'
import { SYSTEM_PORTS } from '../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'

const TAMPERINGS = process.env.SOAK === '1' ? 1_000_000 : 1_700
const SECRET = 'canary-4711'

const schema = defineSchema({
  lefts: { secret: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }) },
  rights: { secret: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }) },
})
type Tables = (typeof schema)['tables']

async function openSession(storage: StorageHandle, id: string): Promise<Session<Tables>> {
  const vault = await createVault({ id, schema, storage, keys: localKeys({ key: TEST_SECRET }) })
  return vault.as(OWNER)
}

async function bodyOf(storage: StorageHandle, table: string, id: number): Promise<Row> {
  const [row] = await storage.get(table, [id])
  if (row === undefined) throw new Error('the row to tamper with is gone')
  return row
}

async function putBody(storage: StorageHandle, table: string, id: number, body: Uint8Array): Promise<void> {
  const { version } = await bodyOf(storage, table, id)
  expect(await storage.update(table, [{ id, version, set: { body } }])).toEqual([true])
}

onEachStorage('a tampered body', (engine) => {
  it('is rejected after any flipped bit, and when it is cut or emptied', async () => {
    const storage = engine.fresh().open()
    const session = await openSession(storage, 'v1')
    const { records } = await session.insert('lefts', [{ fields: { secret: SECRET } }, { fields: { secret: 'sibling' } }], {
      tokenization: true,
    })
    const [victim, sibling] = records
    const [row] = await storage.find('records_1_lefts', { kind: 'all' }, { order: 'asc', limit: 1 })
    const body = row?.body
    if (row === undefined || !(body instanceof Uint8Array)) throw new Error('nothing was sealed')
    const random = seededRandom('tampering')
    const rounds = engine.name === 'memory' ? TAMPERINGS : Math.ceil(TAMPERINGS / 10)
    for (let round = 0; round < rounds; round++) {
      const bad = tampered(body, round, random)
      await putBody(storage, 'records_1_lefts', row.id, bad)
      const refused = await session.getOne('lefts', victim?.id ?? '').catch((error: unknown) => error)
      expect(refused).toMatchObject({ code: 'data_loss', grpcCode: 15, details: [{ table: 'lefts' }] })
      expect(JSON.stringify(refused) + String(refused)).not.toContain('canary')
    }
    const both = [victim, sibling].map((record) => ({ token: record?.tokens.secret ?? '' }))
    const { records: resolved } = await session.detokenize(both, { continueOnError: true })
    expect(resolved[0]).toMatchObject({ valueType: 'NONE', value: '', error: expect.stringContaining('failed authentication') })
    expect(resolved[1]).toMatchObject({ value: 'sibling' })
    await expect(session.detokenize(both)).rejects.toMatchObject({ code: 'data_loss', grpcCode: 15 })
    await expect(session.update('lefts', victim?.id ?? '', { fields: { secret: 'new' } })).rejects.toMatchObject({
      code: 'data_loss',
      grpcCode: 15,
    })
    await expect(session.deleteOne('lefts', victim?.id ?? '')).resolves.toBeDefined()
  }, 600_000)

  it('is rejected in another row, table or vault', async () => {
    const storage = engine.fresh().open()
    const elsewhere = engine.fresh().open()
    const session = await openSession(storage, 'v1')
    const other = await openSession(elsewhere, 'v2')
    const fields = { secret: SECRET }
    const left = await session.insert('lefts', [{ fields }, { fields: { secret: 'two' } }])
    const right = await session.insert('rights', [{ fields }])
    const foreign = await other.insert('lefts', [{ fields }])
    const { body } = await bodyOf(storage, 'records_1_lefts', 1)
    if (!(body instanceof Uint8Array)) throw new Error('nothing was sealed')
    await putBody(storage, 'records_1_lefts', 2, body)
    await putBody(storage, 'records_3_rights', 1, body)
    await putBody(elsewhere, 'records_1_lefts', 1, body)
    const refused = { code: 'data_loss', grpcCode: 15 }
    await expect(session.getOne('lefts', left.records[1]?.id ?? '')).rejects.toMatchObject(refused)
    await expect(session.getOne('rights', right.records[0]?.id ?? '')).rejects.toMatchObject(refused)
    await expect(other.getOne('lefts', foreign.records[0]?.id ?? '')).rejects.toMatchObject(refused)
    expect((await session.getOne('lefts', left.records[0]?.id ?? '')).fields.secret).toBe(SECRET)
  })
})

it('negative control: a moved body opens if the associated data is dropped', async () => {
  const storage = memoryStorage()
  const blind: KeyRingFactory = {
    createRing(vaultId, roots) {
      const ring = keyRingFactory.createRing(vaultId, roots)
      return {
        ...ring,
        seal: (purpose, header, plaintexts, contexts) => ring.seal(purpose, header, plaintexts, contexts.slice().fill(0)),
        open: (purpose, headerBytes, versions, bodies, contexts) =>
          ring.open(purpose, headerBytes, versions, bodies, contexts.slice().fill(0)),
      }
    },
  }
  const keys = localKeys({ key: TEST_SECRET })
  const vault = await openVault({ id: 'v1', schema, storage, keys, ...SYSTEM_PORTS, keyRingFactory: blind })
  const { records } = await vault.as(OWNER).insert('lefts', [{ fields: { secret: SECRET } }, { fields: { secret: 'two' } }])
  const { body } = await bodyOf(storage, 'records_1_lefts', 1)
  if (!(body instanceof Uint8Array)) throw new Error('nothing was sealed')
  await putBody(storage, 'records_1_lefts', 2, body)
  expect((await vault.as(OWNER).getOne('lefts', records[1]?.id ?? '')).fields.secret).toBe(SECRET)
})

/** One flipped bit, a truncation, an extra byte, or no bytes. */
function tampered(body: Uint8Array, round: number, random: SeededRandom): Uint8Array {
  if (round % 50 === 48) return body.slice(0, random.below(body.length))
  if (round % 50 === 49) return Uint8Array.of(...body, 0)
  const bad = body.slice()
  // The first rounds flip every bit of the body in turn; later rounds flip a random bit.
  const bit = round < body.length * 8 ? round : random.below(body.length * 8)
  bad[bit >> 3] = (bad[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return bad
}
