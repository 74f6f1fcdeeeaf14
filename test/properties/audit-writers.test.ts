/** Property: with any number of concurrent writers and processes, every operation has exactly one event and every chain verifies. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { StorageHandle } from '../../src/index.ts'
import { eventsOf, openClients } from '../support/audit/audited-clients.ts'
import { doOperations } from '../support/audit/audited-work.ts'
import { onEachStorage, postgresEngine, sqliteEngine } from '../support/storages/engines.ts'
import type { StorageAddress } from '../support/storages/open-storage.ts'

const EACH = 8

const run = promisify(execFile)

/** Starts a separate process with 16 concurrent callers. Returns the number of its operations. */
async function process16(address: StorageAddress, name: string): Promise<number> {
  const script = join(import.meta.dirname, 'audit-writer-process.ts')
  const { stdout } = await run(process.execPath, [script, JSON.stringify(address), name, '16', String(EACH)])
  return JSON.parse(stdout) as number
}

/** Asserts one event for each operation, with distinct ids, in chains that verify. */
async function assertWhole(storage: StorageHandle, operations: number): Promise<void> {
  const vault = await openClients(storage)
  expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: operations })
  const events = await eventsOf(vault)
  expect(new Set(events.map(({ changeID }) => changeID)).size).toBe(operations)
  expect(new Set(events.map(({ context }) => context.requestID)).size).toBe(operations)
}

onEachStorage('64 concurrent callers', (engine) => {
  it('leave one event per operation, through one handle or several', async () => {
    const place = engine.fresh()
    // Several handles on PostgreSQL equal several processes. Memory has one handle; processes on SQLite are tested below.
    const handles = engine.name === 'postgres' ? [1, 2, 3, 4] : [1]
    const vaults = await Promise.all(handles.map(() => openClients(place.open())))
    const callers = 64 / vaults.length
    const counts = await Promise.all(vaults.map((vault, n) => doOperations(vault, { name: `${n}`, callers, each: EACH })))
    expect(counts).toEqual(vaults.map(() => callers * EACH))
    await assertWhole(place.open(), 64 * EACH)
  })
})

describe('four processes of 16 callers each', () => {
  for (const { name, fresh } of [sqliteEngine(), postgresEngine()]) {
    it(`write whole chains to one storage on ${name}`, async () => {
      const place = fresh()
      const counts = await Promise.all(['a', 'b', 'c', 'd'].map((caller) => process16(place.address(), caller)))
      expect(counts).toEqual([16, 16, 16, 16].map((callers) => callers * EACH))
      await assertWhole(place.open(), 64 * EACH)
    })
  }
})
