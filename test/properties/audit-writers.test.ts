/** Law: however many write at once, in one process or several, every operation has its one event and every chain is whole. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, test } from 'vitest'
import { postgresStorage } from '../../src/adapters/postgres/postgres-storage.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/sqlite-storage.ts'
import type { StorageHandle } from '../../src/index.ts'
import { eventsOf, openClients } from '../support/audit/audited-clients.ts'
import { doOperations } from '../support/audit/audited-work.ts'
import { freshDatabase } from '../support/postgres/fresh-database.ts'
import { onEachStorage } from '../support/storages/engines.ts'

const EACH = process.env.SOAK === '1' ? 200 : 8

const run = promisify(execFile)

/** A process of its own with so many callers at once; answers how many operations it did. */
async function process16(engine: 'sqlite' | 'postgres', location: string, name: string): Promise<number> {
  const script = join(import.meta.dirname, 'audit-writer-process.ts')
  const { stdout } = await run(process.execPath, [script, engine, location, name, '16', String(EACH)])
  return JSON.parse(stdout) as number
}

/** What holds afterwards: an event for each operation, no two with one id, in chains that are whole. */
async function assertWhole(storage: StorageHandle, operations: number): Promise<void> {
  const vault = await openClients(storage)
  expect(await vault.verifyAudit()).toEqual({ ok: true, events: operations })
  const events = await eventsOf(vault)
  expect(new Set(events.map(({ changeID }) => changeID)).size).toBe(operations)
  expect(new Set(events.map(({ context }) => context.requestID)).size).toBe(operations)
}

onEachStorage('64 callers at once', (engine) => {
  test('through one handle, or several where there can be', async () => {
    const place = engine.fresh()
    // Several handles on Postgres are as good as several processes; a memory has but one, and SQLite's processes come below.
    const handles = engine.name === 'postgres' ? [1, 2, 3, 4] : [1]
    const vaults = await Promise.all(handles.map(() => openClients(place.open())))
    const callers = 64 / vaults.length
    const counts = await Promise.all(vaults.map((vault, n) => doOperations(vault, { name: `${n}`, callers, each: EACH })))
    expect(counts).toEqual(vaults.map(() => callers * EACH))
    await assertWhole(place.open(), 64 * EACH)
  })
})

test('four processes of 16 callers each on one SQLite file', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'strongroom-writers-'))
  const filename = join(directory, 'vault.db')
  try {
    const counts = await Promise.all(['a', 'b', 'c', 'd'].map((name) => process16('sqlite', filename, name)))
    expect(counts).toEqual([16, 16, 16, 16].map((callers) => callers * EACH))
    const storage = sqliteStorage({ filename })
    await assertWhole(storage, 64 * EACH)
    await storage.close()
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})

test('four processes of 16 callers each on one Postgres', async () => {
  const { url, drop } = await freshDatabase(inject('postgresUrl'))
  try {
    const counts = await Promise.all(['a', 'b', 'c', 'd'].map((name) => process16('postgres', url, name)))
    expect(counts).toEqual([16, 16, 16, 16].map((callers) => callers * EACH))
    const storage = postgresStorage({ connectionString: url })
    await assertWhole(storage, 64 * EACH)
    await storage.close()
  } finally {
    await drop()
  }
})
