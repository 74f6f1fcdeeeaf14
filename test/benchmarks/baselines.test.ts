/** The baselines and alternatives read back what they store, and the same seed makes the same people. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { openHandRolledVault } from '../../benchmarks/alternatives/hand-rolled-vault.ts'
import { openPgcryptoTable } from '../../benchmarks/alternatives/pgcrypto-table.ts'
import { createMemoryMap } from '../../benchmarks/baselines/memory-map.ts'
import { bytesOnDisk } from '../../benchmarks/baselines/open-sqlite.ts'
import { openPostgresPlaintext } from '../../benchmarks/baselines/postgres-plaintext.ts'
import { openPostgresUuidUnique } from '../../benchmarks/baselines/postgres-uuid-unique.ts'
import { openSqlitePlaintext } from '../../benchmarks/baselines/sqlite-plaintext.ts'
import { openSqliteTokenColumn } from '../../benchmarks/baselines/sqlite-token-column.ts'
import { openSqliteUuidUnique } from '../../benchmarks/baselines/sqlite-uuid-unique.ts'
import { COLUMNS, createPeople } from '../../benchmarks/fixtures/people.ts'
import { freshDatabase } from '../support/postgres/fresh-database.ts'

const SEED = 11

describe('people', () => {
  it('are the same for the same seed and differ for another', () => {
    expect(createPeople(SEED).next(3)).toEqual(createPeople(SEED).next(3))
    expect(createPeople(SEED).next(3)).not.toEqual(createPeople(SEED + 1).next(3))
  })

  it('have every column, and unique addresses from nextUnique', () => {
    const batch = createPeople(SEED).nextUnique(2000)
    for (const { fields } of batch) expect(Object.keys(fields)).toEqual(COLUMNS)
    expect(new Set(batch.map(({ fields }) => fields.email)).size).toBe(2000)
  })
})

describe('baselines on SQLite', () => {
  let folder = ''
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'strongroom-baselines-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('the plaintext table returns rows in the order of the requested ids', () => {
    const batch = createPeople(SEED).next(5)
    const file = join(folder, 'plaintext.db')
    const baseline = openSqlitePlaintext(file)
    expect(baseline.insert(batch)).toEqual([1, 2, 3, 4, 5])
    expect(baseline.get([5, 1])).toEqual([batch[4]?.fields, batch[0]?.fields])
    expect(baseline.getSsn([2, 2])).toEqual([batch[1]?.fields.ssn, batch[1]?.fields.ssn])
    expect(() => baseline.get([6])).toThrow('is missing')
    baseline.close()
    expect(bytesOnDisk(file)).toBeGreaterThan(0)
  })

  it('the unique table rejects a duplicate value and stores nothing of its batch', () => {
    const [first, second] = createPeople(SEED).nextUnique(2)
    const baseline = openSqliteUuidUnique(join(folder, 'unique.db'))
    const batch = first === undefined || second === undefined ? [] : [second, first, second]
    expect(() => baseline.insert(batch)).toThrow(/UNIQUE/)
    expect(baseline.insert(batch.slice(0, 2)).length).toBe(2)
    baseline.close()
  })

  it('the token column returns a token for each value, and the value for each token', () => {
    const baseline = openSqliteTokenColumn(join(folder, 'tokens.db'))
    const tokens = [...baseline.insert(['4111', '4222']), baseline.insertOne('4111')]
    expect(new Set(tokens).size).toBe(3)
    expect(baseline.resolve([...tokens].reverse())).toEqual(['4111', '4222', '4111'])
    expect(() => baseline.resolve(['no token'])).toThrow('is missing')
    baseline.close()
  })

  it('the hand-rolled vault returns the values of its tokens', () => {
    const batch = createPeople(SEED).next(3)
    const alternative = openHandRolledVault(join(folder, 'hand-rolled.db'))
    const tokens = alternative.insert(batch)
    expect(alternative.detokenize([...tokens].reverse())).toEqual(batch.map(({ fields }) => fields.ssn).reverse())
    expect(() => alternative.detokenize(['no token'])).toThrow('is missing')
    alternative.close()
  })
})

it('the map in memory stores copies of its input', () => {
  const batch = createPeople(SEED).next(2)
  const baseline = createMemoryMap()
  const ids = baseline.insert(batch)
  expect(baseline.get(ids)).toEqual(batch.map(({ fields }) => fields))
  expect(baseline.get(ids)[0]).not.toBe(batch[0]?.fields)
})

describe('baselines on Postgres', () => {
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
    if (pool === undefined) throw new Error('The pool is not open.')
    return pool
  }

  it('the plaintext table returns rows in the order of the requested ids', async () => {
    const batch = createPeople(SEED).next(5)
    const baseline = await openPostgresPlaintext(opened(), 'plain')
    await baseline.insert(batch)
    expect(await baseline.get([5, 1])).toMatchObject([{ ...batch[4]?.fields }, { ...batch[0]?.fields }])
    expect(await baseline.get([3])).toEqual([batch[2]?.fields])
    expect(await baseline.getSsn([2, 4])).toEqual([batch[1]?.fields.ssn, batch[3]?.fields.ssn])
    expect(await baseline.bytesOnDisk()).toBeGreaterThan(0)
    await baseline.close()
  })

  it('the unique table rejects a duplicate value', async () => {
    const batch = createPeople(SEED).nextUnique(3)
    const baseline = await openPostgresUuidUnique(opened(), 'unique_plain')
    await baseline.insert(batch)
    await expect(baseline.insert(batch.slice(1, 2))).rejects.toMatchObject({ code: '23505' })
    await baseline.close()
  })

  it('pgcrypto encrypts each cell under its own IV and decrypts it', async () => {
    const batch = createPeople(SEED).next(1)
    const alternative = await openPgcryptoTable(opened(), 'sealed', 'raw')
    await alternative?.insert([...batch, ...batch])
    const { rows } = await opened().query(
      `select ssn, convert_from(decrypt_iv(substring(ssn from 17), $1, substring(ssn from 1 for 16), 'aes-cbc/pad:pkcs'), 'UTF8') as opened from sealed.people`,
      [Buffer.alloc(32, 9)],
    )
    expect(rows.map((row) => row.opened)).toEqual([batch[0]?.fields.ssn, batch[0]?.fields.ssn])
    expect(new Set(rows.map((row) => row.ssn.toString('hex'))).size).toBe(2)
    await alternative?.close()
  })

  it('pgcrypto by password encrypts each cell for itself and detects another password', async () => {
    const batch = createPeople(SEED).next(1)
    const alternative = await openPgcryptoTable(opened(), 'by_password', 'password')
    await alternative?.insert([...batch, ...batch])
    const decrypted = 'select ssn, pgp_sym_decrypt(ssn, $1) as opened from by_password.people'
    const { rows } = await opened().query(decrypted, ['TEST_SECRET of the alternative'])
    expect(rows.map((row) => row.opened)).toEqual([batch[0]?.fields.ssn, batch[0]?.fields.ssn])
    expect(new Set(rows.map((row) => row.ssn.toString('hex'))).size).toBe(2)
    await expect(opened().query(decrypted, ['TEST_SECRET of another'])).rejects.toThrow()
    await alternative?.close()
  })
})
