/** Verifying stored records: each tampering of a row is found where it is, with no value, and writers beside the verification cause no findings. */
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/index.ts'
import type { Row, StorageHandle } from '../../../src/core/ports/storage.ts'
import { column, createVault, defineSchema, type RecordVerificationResult } from '../../../src/index.ts'
import { ENGINES, memoryEngine, onEachStorage } from '../../support/storages/engines.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import {
  digestOf,
  flipped,
  move,
  openTampered,
  overwrite,
  PEOPLE,
  personOf,
  RECORDS,
  rowOf,
  rowsOf,
  TOKENS,
  TRANSIENTS,
} from '../../support/vaults/tampered-records.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

/** Findings as text: the kind, the column, and the number of the record. */
function shown({ findings }: RecordVerificationResult, records: readonly { readonly id: string }[]): string[] {
  return findings
    .map(({ kind, column, id }) => {
      const number = records.findIndex((record) => record.id === id)
      return [kind, column ?? '-', id === undefined ? 'none' : number < 0 ? 'other' : number].join(' ')
    })
    .sort()
}

async function setDigest(storage: StorageHandle, id: number, name: string, cell: Uint8Array | null): Promise<void> {
  await overwrite(storage, RECORDS, id, { [digestOf(await rowOf(storage, RECORDS, id), name)]: cell })
}

async function digestIn(storage: StorageHandle, id: number, name: string): Promise<Uint8Array> {
  const row = await rowOf(storage, RECORDS, id)
  const digest = row[digestOf(row, name)]
  if (!(digest instanceof Uint8Array)) throw new Error('no digest')
  return digest
}

async function tokenRow(storage: StorageHandle, isMatch: (row: Row) => boolean): Promise<Row> {
  const found = (await rowsOf(storage, TOKENS)).find(isMatch)
  if (found === undefined) throw new Error('no such token')
  return found
}

/** Stored tokens are those of `card` in rows 1 to 5, of the pin of row 3, and of the name of row 4. Row ids begin with 1, numbers of records with 0. */
const cardTokenOf = (id: number) => async (storage: StorageHandle) => {
  const cards = (await rowsOf(storage, TOKENS)).map(({ object_id: objectId }) => objectId)
  const [cardColumn] = cards.filter((objectId) => cards.filter((other) => other === objectId).length > 1)
  return tokenRow(storage, (row) => row.object_id === cardColumn && row.row_id === id)
}

const TAMPERINGS: readonly (readonly [string, (storage: StorageHandle) => Promise<unknown>, readonly string[]])[] = [
  [
    'a flipped bit of a body',
    async (storage) => overwrite(storage, RECORDS, 2, { body: flipped((await rowOf(storage, RECORDS, 2)).body, 300) }),
    ['unreadable_record - 1'],
  ],
  ['a body set to null', (storage) => overwrite(storage, RECORDS, 2, { body: null }), ['unreadable_record - 1']],
  [
    'a body copied from another row',
    async (storage) => overwrite(storage, RECORDS, 2, { body: (await rowOf(storage, RECORDS, 1)).body ?? null }),
    ['unreadable_record - 1'],
  ],
  [
    'a row moved to another id',
    (storage) => move(storage, RECORDS, 2, 999),
    ['unexpected_token card 1', 'unreadable_record - other'],
  ],
  ['a unique digest set to null', (storage) => setDigest(storage, 1, 'email', null), ['missing_digest email 0']],
  ['a searchable digest set to null', (storage) => setDigest(storage, 1, 'code', null), ['missing_digest code 0']],
  ['the digest of a token set to null', (storage) => setDigest(storage, 1, 'city', null), ['missing_digest city 0']],
  [
    'a digest replaced by random bytes',
    (storage) => setDigest(storage, 1, 'email', new Uint8Array(12).fill(5)),
    ['wrong_digest email 0'],
  ],
  [
    'a digest of another length',
    async (storage) => setDigest(storage, 1, 'code', (await digestIn(storage, 1, 'code')).slice(0, 11)),
    ['wrong_digest code 0'],
  ],
  [
    'two digests swapped',
    async (storage) => {
      const [first, second] = [await digestIn(storage, 1, 'email'), await digestIn(storage, 2, 'email')]
      await setDigest(storage, 1, 'email', null)
      await setDigest(storage, 2, 'email', first)
      await setDigest(storage, 1, 'email', second)
    },
    ['wrong_digest email 0', 'wrong_digest email 1'],
  ],
  [
    'a plain value whose digest was left',
    async (storage) => {
      const name =
        Object.keys(await rowOf(storage, RECORDS, 1)).find((key) => key.startsWith('plain_') && key.endsWith('_city')) ?? ''
      await overwrite(storage, RECORDS, 1, { [name]: 'elsewhere' })
    },
    ['wrong_digest city 0'],
  ],
  [
    'a stored token deleted',
    async (storage) => storage.delete(TOKENS, { ids: [(await cardTokenOf(2)(storage)).id] }),
    ['missing_token card 1'],
  ],
  [
    'the digest of a stored token changed',
    async (storage) => overwrite(storage, TOKENS, (await cardTokenOf(2)(storage)).id, { digest: new Uint8Array(16).fill(3) }),
    ['wrong_token card 1'],
  ],
  [
    'a stored token pointed at another row',
    async (storage) => overwrite(storage, TOKENS, (await cardTokenOf(2)(storage)).id, { row_id: 1 }),
    ['missing_token card 1', 'unexpected_token card 0'],
  ],
  [
    'a stored token pointed at no row',
    async (storage) => overwrite(storage, TOKENS, (await cardTokenOf(2)(storage)).id, { row_id: 998 }),
    ['missing_token card 1', 'unexpected_token card other'],
  ],
  [
    'a stored token pointed at no possible row',
    async (storage) => overwrite(storage, TOKENS, (await cardTokenOf(2)(storage)).id, { row_id: null }),
    ['missing_token card 1', 'unexpected_token card none'],
  ],
  [
    'a stored token of no known column',
    async (storage) => overwrite(storage, TOKENS, (await cardTokenOf(2)(storage)).id, { object_id: 4000 }),
    ['missing_token card 1'],
  ],
  [
    'the token of a supplied name deleted',
    async (storage) => {
      const cards = (await cardTokenOf(1)(storage)).object_id
      const found = await tokenRow(storage, (row) => row.object_id !== cards && row.row_id === 4)
      await storage.delete(TOKENS, { ids: [found.id] })
    },
    ['missing_token name 3'],
  ],
  ['a transient value deleted', (storage) => storage.delete(TRANSIENTS, { ids: [1] }), ['missing_transient pin 0']],
  [
    'a transient value with a supplied token deleted',
    (storage) => storage.delete(TRANSIENTS, { ids: [3] }),
    ['missing_transient pin 2', 'unexpected_token pin none'],
  ],
  [
    'a flipped bit of a transient value',
    async (storage) => overwrite(storage, TRANSIENTS, 2, { body: flipped((await rowOf(storage, TRANSIENTS, 2)).body, 300) }),
    ['wrong_transient pin 1'],
  ],
  [
    'the expiry of a transient value',
    (storage) => overwrite(storage, TRANSIENTS, 2, { expires_at: 1 }),
    ['wrong_transient pin 1'],
  ],
  [
    'the column of a transient value',
    (storage) => overwrite(storage, TRANSIENTS, 2, { object_id: 1 }),
    ['wrong_transient pin 1'],
  ],
]

onEachStorage('verifyRecords', (engine) => {
  it('finds nothing after inserts, updates, deletions and expiry', async () => {
    const { vault, session, records, clock } = await openTampered(engine.fresh().open(), 6)
    await session.updateOne('people', records[0]?.id ?? '', { card: '4711000000009999', pin: '99', email: null })
    await session.updateOne('people', records[1]?.id ?? '', { email: 'canary0@acme.example', code: null, city: 'x', card: null })
    await session.delete('people', [records[2]?.id ?? '', records[3]?.id ?? ''])
    expect(await vault.verifyRecords()).toEqual({
      ok: true,
      recordCount: 4,
      forgottenCount: 0,
      findingCount: 0,
      counts: {},
      findings: [],
    })
    clock.ms += 31 * 60_000
    expect(await vault.verifyRecords({ table: 'people' })).toMatchObject({ ok: true, recordCount: 4 })
    await vault.sweep()
    expect(await vault.verifyRecords()).toMatchObject({ ok: true, recordCount: 4 })
  })

  it.each(TAMPERINGS)('finds %s', async (_, tamper, expected) => {
    const storage = engine.fresh().open()
    const { vault, records } = await openTampered(storage, 5)
    await tamper(storage)
    const result = await vault.verifyRecords()
    expect(shown(result, records)).toEqual(expected)
    expect(result).toMatchObject({ ok: false, findingCount: expected.length })
    expect(JSON.stringify(result)).not.toMatch(/canary|supplied/i)
  })

  it('finds a unique value that was let in twice after its digest was cleared, in all records but the first that no look-up finds', async () => {
    const storage = engine.fresh().open()
    const { vault, session, records } = await openTampered(storage, 2)
    await setDigest(storage, 1, 'email', null)
    const again = await session.insert('people', [{ fields: { email: 'canary0@ACME.example' } }])
    const all = [...records, ...again.records]
    expect(shown(await vault.verifyRecords(), all)).toEqual(['duplicate_value email 0', 'missing_digest email 0'])
    await setDigest(storage, 3, 'email', null)
    expect(shown(await vault.verifyRecords(), all)).toEqual([
      'duplicate_value email 2',
      'missing_digest email 0',
      'missing_digest email 2',
    ])
  })

  it('finds a digest without a value', async () => {
    const storage = engine.fresh().open()
    const { vault, session, records } = await openTampered(storage, 1)
    await session.updateOne('people', records[0]?.id ?? '', { email: null })
    await setDigest(storage, 1, 'email', new Uint8Array(12).fill(1))
    expect(shown(await vault.verifyRecords(), records)).toEqual(['unexpected_digest email 0'])
  })
})

onEachStorage('verifyRecords beside writers', (engine) => {
  it.each([
    ['the update of a stored token', TOKENS, 'card', '4711000000009999'],
    ['the update of a transient value', TRANSIENTS, 'pin', '1'],
    ['the move of a unique value to another record', RECORDS, 'email', null],
  ])('takes %s between its reads for no finding', async (_, table, name, value) => {
    const place = engine.fresh()
    const { session, records } = await openTampered(place.open(), 3)
    const storage = place.open()
    let reads = 0
    const before = async (read: string) => {
      // The first read of records is that of the slice itself.
      if (read !== table || ++reads !== (table === RECORDS ? 2 : 1)) return
      await session.updateOne('people', records[0]?.id ?? '', { [name]: value })
      if (name === 'email') await session.updateOne('people', records[1]?.id ?? '', { email: 'canary0@acme.example' })
    }
    const interrupted: StorageHandle = {
      ...storage,
      async find(read, filter, page) {
        await before(read)
        return storage.find(read, filter, page)
      },
      async get(read, ids) {
        await before(read)
        return storage.get(read, ids)
      },
    }
    const { vault } = await openLoose(interrupted, PEOPLE)
    reads = 0
    expect(await vault.verifyRecords()).toMatchObject({ ok: true, recordCount: 3 })
    expect(reads).toBeGreaterThan(1)
  })
})

describe.each(['memory', 'sqlite'] as const)('a table that is erased while it is verified on %s', (name) => {
  const engine = ENGINES[name]()
  const people = { name: column.string() }
  const notes = {
    text: column.string({ index: 'sealed' }),
    card: column.string({ token: { kind: 'formatPreserving', format: 'digits' } }),
  }

  it('is left out, before whichever read it is gone', async () => {
    for (let last = 0, isReached = true; isReached; last++) {
      const place = engine.fresh()
      const storage = place.open()
      const older = await openLoose(storage, { people, notes })
      await older.session.insert('notes', [{ fields: { text: 'a', card: '4711000000000001' } }, { fields: { text: 'b' } }])
      await older.session.insertOne('people', { name: 'c' })
      const erase = async (): Promise<void> => {
        const { vault } = await openLoose(place.open(), { people })
        const plan = await vault.planSchemaChange(defineSchema({ people }), { drop: { notes: 'erase' } })
        await vault.applySchemaChange(plan, { settleMs: 0 })
      }
      let reads = Number.NEGATIVE_INFINITY
      const first = async <T>(read: () => Promise<T>): Promise<T> => {
        if (reads++ === last) await erase()
        return read()
      }
      const watched: StorageHandle = {
        ...storage,
        find: (...request) => first(() => storage.find(...request)),
        get: (...request) => first(() => storage.get(...request)),
        aggregate: (...request) => first(() => storage.aggregate(...request)),
      }
      const { vault } = await openLoose(watched, { people, notes })
      reads = 0
      expect(await vault.verifyRecords()).toMatchObject({ ok: true })
      isReached = reads > last
      await place.remove()
    }
  })
})

describe('verifyRecords', () => {
  const engine = memoryEngine()

  it('ends with the error of onProgress also where it erased the table', async () => {
    const place = engine.fresh()
    const [people, notes] = [{ name: column.string() }, { text: column.string() }]
    const { vault, session } = await openLoose(place.open(), { people, notes })
    await session.insertOne('notes', { text: 'a' })
    const { vault: other } = await openLoose(place.open(), { people })
    const own = new Error('stop here')
    const onProgress = async () => {
      const plan = await other.planSchemaChange(defineSchema({ people }), { drop: { notes: 'erase' } })
      await other.applySchemaChange(plan, { settleMs: 0 })
      throw own
    }
    await expect(vault.verifyRecords({ onProgress })).rejects.toBe(own)
  })

  it('reads 500 records in slices, yields between them, reports progress, and opens no transaction', async () => {
    const storage = engine.fresh().open()
    const { session } = await openTampered(storage, 250, { audit: 'off' })
    await session.insert(
      'people',
      Array.from({ length: 250 }, (_, k) => ({ fields: personOf(1000 + k) })),
    )
    const limits: number[] = []
    let transactions = 0
    const counted: StorageHandle = {
      ...storage,
      find(table, filter, page) {
        limits.push(page.limit)
        return storage.find(table, filter, page)
      },
      transaction(work) {
        transactions++
        return storage.transaction(work)
      },
    }
    const { vault: watched } = await openLoose(counted, PEOPLE)
    limits.length = 0
    transactions = 0
    const progress: number[] = []
    expect(await watched.verifyRecords({ onProgress: ({ done }) => progress.push(done) })).toMatchObject({
      ok: true,
      recordCount: 500,
    })
    expect(progress).toEqual([4, 20, 84, 212, 340, 468, 500])
    expect(Math.max(...limits)).toBeLessThanOrEqual(500)
    expect(transactions).toBe(0)
  })

  it('reads few records at once if they are long', async () => {
    const schema = defineSchema({ notes: { text: column.string() } })
    const vault = await createVault({ id: 'v1', schema, storage: engine.fresh().open(), keys: localKeys({ key: TEST_SECRET }) })
    const text = 'long '.repeat(20_000)
    await vault.as(OWNER).insert(
      'notes',
      Array.from({ length: 20 }, () => ({ fields: { text } })),
    )
    const progress: number[] = []
    await vault.verifyRecords({ onProgress: ({ done }) => progress.push(done) })
    expect(progress).toEqual([4, 6, 8, 10, 12, 14, 16, 18, 20])
  })

  it('throws not_found for an unknown table, and cancelled once its signal is aborted', async () => {
    const { vault } = await openTampered(engine.fresh().open(), 1)
    await expect(vault.verifyRecords({ table: 'nothing' })).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('Verify failed.'),
    })
    await expect(vault.verifyRecords({ signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'cancelled',
      message: 'Verify failed. It was cancelled by its AbortSignal.',
    })
  })

  it('ends with the error of onProgress, unchanged', async () => {
    const { vault } = await openTampered(engine.fresh().open(), 1)
    const own = new Error('stop here')
    const onProgress = async () => {
      throw own
    }
    await expect(vault.verifyRecords({ onProgress })).rejects.toBe(own)
  })

  it('lists the first 100 findings and counts all', async () => {
    const storage = engine.fresh().open()
    const { vault } = await openTampered(storage, 130)
    for (let id = 1; id <= 130; id++) await overwrite(storage, RECORDS, id, { body: null })
    const result = await vault.verifyRecords()
    expect(result).toMatchObject({ ok: false, recordCount: 130, findingCount: 130, counts: { unreadable_record: 130 } })
    expect(result.findings).toHaveLength(100)
  })
})
