/** The floors do what they are measured for: what they take in can be read back, and the same people come from the same seed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { openHandRolledVault } from '../../benchmarks/floors/hand-rolled-vault.ts'
import { createMemoryMap } from '../../benchmarks/floors/memory-map.ts'
import { bytesOnDisk } from '../../benchmarks/floors/open-sqlite.ts'
import { openPgcryptoTable } from '../../benchmarks/floors/pgcrypto-table.ts'
import { openPostgresPlaintext } from '../../benchmarks/floors/postgres-plaintext.ts'
import { openPostgresUuidUnique } from '../../benchmarks/floors/postgres-uuid-unique.ts'
import { openSqlitePlaintext } from '../../benchmarks/floors/sqlite-plaintext.ts'
import { openSqliteTokenColumn } from '../../benchmarks/floors/sqlite-token-column.ts'
import { openSqliteUuidUnique } from '../../benchmarks/floors/sqlite-uuid-unique.ts'
import { COLUMNS, createPeople } from '../../benchmarks/people.ts'
import { freshDatabase } from '../support/postgres/fresh-database.ts'

const SEED = 11

describe('people', () => {
  test('come in the same order from the same seed, and others from another', () => {
    expect(createPeople(SEED).next(3)).toEqual(createPeople(SEED).next(3))
    expect(createPeople(SEED).next(3)).not.toEqual(createPeople(SEED + 1).next(3))
  })

  test('have every column, and where asked for an address nobody else has', () => {
    const batch = createPeople(SEED).nextUnique(2000)
    for (const { fields } of batch) expect(Object.keys(fields)).toEqual(COLUMNS)
    expect(new Set(batch.map(({ fields }) => fields.email)).size).toBe(2000)
  })
})

describe('on SQLite', () => {
  let folder = ''
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'strongroom-floors-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('plaintext answers by row id, in the order asked', () => {
    const batch = createPeople(SEED).next(5)
    const file = join(folder, 'plaintext.db')
    const floor = openSqlitePlaintext(file)
    expect(floor.insert(batch)).toEqual([1, 2, 3, 4, 5])
    expect(floor.get([5, 1])).toEqual([batch[4]?.fields, batch[0]?.fields])
    expect(floor.getSsn([2, 2])).toEqual([batch[1]?.fields.ssn, batch[1]?.fields.ssn])
    expect(() => floor.get([6])).toThrow('not there')
    floor.close()
    expect(bytesOnDisk(file)).toBeGreaterThan(0)
  })

  test('the unique table refuses a value twice and takes none of that batch', () => {
    const [first, second] = createPeople(SEED).nextUnique(2)
    const floor = openSqliteUuidUnique(join(folder, 'unique.db'))
    const batch = first === undefined || second === undefined ? [] : [second, first, second]
    expect(() => floor.insert(batch)).toThrow(/UNIQUE/)
    expect(floor.insert(batch.slice(0, 2)).length).toBe(2)
    floor.close()
  })

  test('the token column answers a token for each value, and the value for each token', () => {
    const floor = openSqliteTokenColumn(join(folder, 'tokens.db'))
    const tokens = [...floor.insert(['4111', '4222']), floor.insertOne('4111')]
    expect(new Set(tokens).size).toBe(3)
    expect(floor.resolve([...tokens].reverse())).toEqual(['4111', '4222', '4111'])
    expect(() => floor.resolve(['no token'])).toThrow('not there')
    floor.close()
  })

  test('the hand-rolled vault gives back what its tokens stand for', () => {
    const batch = createPeople(SEED).next(3)
    const peer = openHandRolledVault(join(folder, 'hand-rolled.db'))
    const tokens = peer.insert(batch)
    expect(peer.detokenize([...tokens].reverse())).toEqual(batch.map(({ fields }) => fields.ssn).reverse())
    expect(() => peer.detokenize(['no token'])).toThrow('not there')
    peer.close()
  })
})

test('the map in memory keeps copies, not what it was handed', () => {
  const batch = createPeople(SEED).next(2)
  const floor = createMemoryMap()
  const ids = floor.insert(batch)
  expect(floor.get(ids)).toEqual(batch.map(({ fields }) => fields))
  expect(floor.get(ids)[0]).not.toBe(batch[0]?.fields)
})

describe('on Postgres', () => {
  let pool: pg.Pool | undefined
  let drop = async (): Promise<void> => {}
  beforeAll(async () => {
    const database = await freshDatabase(inject('postgresUrl'))
    pool = new pg.Pool({ connectionString: database.url, max: 2 })
    drop = database.drop
  })
  afterAll(async () => {
    await pool?.end()
    await drop()
  })
  const opened = (): pg.Pool => {
    if (pool === undefined) throw new Error('the pool is opened before the tests')
    return pool
  }

  test('plaintext answers by row id, in the order asked', async () => {
    const batch = createPeople(SEED).next(5)
    const floor = await openPostgresPlaintext(opened(), 'plain')
    await floor.insert(batch)
    expect(await floor.get([5, 1])).toMatchObject([{ ...batch[4]?.fields }, { ...batch[0]?.fields }])
    expect(await floor.get([3])).toEqual([batch[2]?.fields])
    expect(await floor.getSsn([2, 4])).toEqual([batch[1]?.fields.ssn, batch[3]?.fields.ssn])
    expect(await floor.bytesOnDisk()).toBeGreaterThan(0)
    await floor.close()
  })

  test('the unique table refuses a value twice', async () => {
    const batch = createPeople(SEED).nextUnique(3)
    const floor = await openPostgresUuidUnique(opened(), 'unique_plain')
    await floor.insert(batch)
    await expect(floor.insert(batch.slice(1, 2))).rejects.toMatchObject({ code: '23505' })
    await floor.close()
  })

  test('pgcrypto seals each cell under a vector of its own, and opens it', async () => {
    const batch = createPeople(SEED).next(1)
    const peer = await openPgcryptoTable(opened(), 'sealed')
    await peer?.insert([...batch, ...batch])
    const { rows } = await opened().query(
      `select ssn, convert_from(decrypt_iv(substring(ssn from 17), $1, substring(ssn from 1 for 16), 'aes-cbc/pad:pkcs'), 'UTF8') as opened from sealed.people`,
      [Buffer.alloc(32, 9)],
    )
    expect(rows.map((row) => row.opened)).toEqual([batch[0]?.fields.ssn, batch[0]?.fields.ssn])
    expect(new Set(rows.map((row) => row.ssn.toString('hex'))).size).toBe(2)
    await peer?.close()
  })
})
