/** The drivers of the SQLite storage: how one is chosen, that both open the same files, and that both report errors alike. */
import { linkSync, symlinkSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { DriverName } from '../../../src/adapters/sqlite/drivers.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { openDatabase } from '../../../src/adapters/sqlite/open-database.ts'
import { mapSqliteError, sqliteCodeOf } from '../../../src/adapters/sqlite/sqlite-errors.ts'
import { column } from '../../../src/index.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'
import { ALL, EVERY, NOTES } from './notes-table.ts'
import { temporaryFolder } from './temporary-folder.ts'

const nextFile = temporaryFolder()
const DRIVERS: readonly DriverName[] = ['better-sqlite3', 'node:sqlite']

const ROW = { label: 'NUL \0 and \u{1f600}', amount: 2n ** 62n + 1n, body: new Uint8Array([0, 255, 0]) }

describe.each([
  ['better-sqlite3', 'node:sqlite'],
  ['node:sqlite', 'better-sqlite3'],
] as const)('a file that %s wrote', (writer, reader) => {
  it(`has the same rows in ${reader}, which gives none of its ids again`, async () => {
    const filename = nextFile()
    const first = sqliteStorage({ filename, driver: writer })
    await first.prepare([NOTES])
    const [id = 0] = await first.reserveIds('notes', 1)
    await first.insert('notes', [{ ...ROW, id }])
    await first.close()
    const second = sqliteStorage({ filename, driver: reader })
    await second.prepare([NOTES])
    expect(await second.find('notes', EVERY, ALL)).toEqual([{ ...ROW, id, version: 1 }])
    expect((await second.reserveIds('notes', 1))[0]).toBeGreaterThan(id)
    await second.close()
  })

  it(`is not opened by ${reader} in the same process, where neither sees the locks of the other`, async () => {
    const filename = nextFile()
    const first = [sqliteStorage({ filename, driver: writer }), sqliteStorage({ filename, driver: writer })]
    expect(() => sqliteStorage({ filename, driver: reader })).toThrow(/open with the driver/)
    await first[0]?.close()
    expect(() => sqliteStorage({ filename, driver: reader })).toThrow(
      expect.objectContaining({ code: 'failed_precondition', message: expect.stringContaining(writer) }),
    )
    await first[1]?.close()
    await sqliteStorage({ filename, driver: reader }).close()
  })

  it(`loses nothing when ${reader} is refused it under any of its names`, async () => {
    const filename = nextFile()
    const storage = sqliteStorage({ filename, driver: writer })
    await storage.prepare([NOTES])
    await storage.insert('notes', [{ id: 1, label: 'before' }])
    const names = { symbolic: nextFile(), hard: nextFile() }
    symlinkSync(filename, names.symbolic)
    linkSync(filename, names.hard)
    for (const name of [filename, names.symbolic, names.hard]) {
      expect(() => sqliteStorage({ filename: name, driver: reader })).toThrow(/open with the driver/)
    }
    await storage.insert('notes', [{ id: 2, label: 'after' }])
    await storage.close()
    const again = sqliteStorage({ filename, driver: writer })
    await again.prepare([NOTES])
    expect(await again.find('notes', EVERY, ALL)).toMatchObject([{ label: 'before' }, { label: 'after' }])
    await again.close()
  })

  it(`holds a vault that ${reader} opens, queries and verifies`, async () => {
    const filename = nextFile()
    const schema = { notes: { text: column.string({ searchable: true, token: 'random' }), rank: column.integer() } }
    const first = await openLoose(sqliteStorage({ filename, driver: writer }), schema)
    const fields = Array.from({ length: 20 }, (_, n) => ({ fields: { text: `TEST_SECRET ${n % 4}`, rank: n } }))
    const { records } = await first.vault.as(OWNER).insert('notes', fields)
    await first.vault.close()
    const second = await openLoose(sqliteStorage({ filename, driver: reader }), schema)
    const owner = second.vault.as(OWNER)
    expect((await owner.get('notes')).records.map(({ id }) => id)).toEqual(records.map(({ id }) => id))
    const answer = await owner.query("SELECT count(*) AS n FROM notes WHERE text = 'TEST_SECRET 3'")
    expect(JSON.stringify(answer)).toContain('5')
    expect(await second.vault.verifyAudit()).toMatchObject({ ok: true })
    expect(await second.vault.verifyRecords()).toMatchObject({ ok: true })
    await second.vault.close()
  })
})

describe.each(DRIVERS)('errors of %s', (driver) => {
  const open = (filename: string) => sqliteStorage({ filename, driver })

  it('name the folder that does not exist, and a file that is no database', () => {
    expect(() => open(`${nextFile()}/missing/vault.db`)).toThrow(/folder of the SQLite file does not exist/)
    const text = nextFile()
    writeFileSync(text, 'TEST_SECRET '.repeat(1000))
    const message = 'The file is not an SQLite database, or is encrypted. Check its name, or restore it.'
    expect(() => open(text)).toThrow(expect.objectContaining({ code: 'failed_precondition', message }))
  })

  it('carry the code of a unique index and no value', async () => {
    const storage = open(nextFile())
    await storage.prepare([NOTES])
    await storage.insert('notes', [{ id: 1, label: 'TEST_SECRET' }])
    const conflict = await storage.insert('notes', [{ id: 2, label: 'TEST_SECRET' }]).catch((error: unknown) => error)
    expect(conflict).toMatchObject({ code: 'conflict', details: [{ table: 'notes', columns: ['label'], index: 0 }] })
    expect(JSON.stringify([String(conflict), conflict, String((conflict as Error).cause)])).not.toContain('SECRET')
    await storage.close()
    await expect(storage.get('notes', [1])).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('leave the event loop free while another connection holds the file', async () => {
    const filename = nextFile()
    const storage = open(filename)
    await storage.prepare([NOTES])
    const foreign = openDatabase({ filename, synchronous: 'full', driver })
    foreign.writer.prepare('begin immediate', 'change').run([])
    const writing = storage.insert('notes', [{ id: 1, label: 'patient' }])
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
    expect(await storage.get('notes', [1])).toEqual([undefined])
    foreign.writer.prepare('rollback', 'change').run([])
    foreign.close()
    await writing
    expect(await storage.find('notes', EVERY, ALL)).toMatchObject([{ label: 'patient' }])
    await storage.close()
  })

  it('refuse a database in memory', () => {
    expect(() => open(':memory:')).toThrow(/`filename` must be the name of a file.*strongroom\/memory/)
  })
})

describe('the option driver', () => {
  it('is refused if it names no driver', () => {
    for (const driver of ['sqlite3', 'constructor', '', Object.create(null), Symbol('sqlite3')]) {
      expect(() => Reflect.apply(sqliteStorage, undefined, [{ filename: nextFile(), driver }])).toThrow(
        /driver must be 'better-sqlite3' or 'node:sqlite'/,
      )
    }
  })
})

describe('the codes of node:sqlite, which are numbers', () => {
  const reported = (errcode: number) => Object.assign(new Error('refused'), { code: 'ERR_SQLITE_ERROR', errcode })

  it('have the names that SQLite gives them', () => {
    expect(sqliteCodeOf(reported(5))).toBe('SQLITE_BUSY')
    expect(sqliteCodeOf(reported(517))).toBe('SQLITE_BUSY')
    expect(sqliteCodeOf(reported(26))).toBe('SQLITE_NOTADB')
    expect(sqliteCodeOf(reported(1034))).toBe('SQLITE_IOERR_FSYNC')
    expect(sqliteCodeOf(reported(4874))).toBe('SQLITE_IOERR_SHMSIZE')
    expect(sqliteCodeOf(reported(999))).toBe('SQLITE_999')
    expect(sqliteCodeOf(new Error('none'))).toBeUndefined()
  })

  it('decide which error is thrown', () => {
    expect(mapSqliteError(reported(5), undefined)).toMatchObject({ code: 'unavailable' })
    expect(mapSqliteError(reported(13), undefined)).toMatchObject({ code: 'storage_full' })
    expect(mapSqliteError(reported(10), undefined)).toMatchObject({ code: 'unavailable' })
    expect(mapSqliteError(reported(1), undefined)).toMatchObject({ code: 'internal' })
  })
})
