/** Law: with any number of concurrent writers and processes, every operation has exactly one event and every chain verifies. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import type { StorageHandle } from '../../src/storage-port.ts'
import { eventsOf, openClients } from '../support/audit/audited-clients.ts'
import { doOperations, type Work } from '../support/audit/audited-work.ts'
import { builtProcess } from '../support/cli/built-command.ts'
import type { StorageAddress } from '../support/storages/open-storage.ts'
import { onFresh, openPlaces, type Place } from '../support/storages/places.ts'
import type { Law } from './law.ts'

/** Callers of a case, and operations of each. */
const CALLERS = 64
const EACH = 4
const OPERATIONS = CALLERS * EACH

const run = promisify(execFile)

/** A case is 64 callers in one process, or four processes of 16. */
export const auditWriters: Law = {
  name: 'audit-writers',
  statement: '64 concurrent callers, in one process or in four, leave one event for each operation, in chains that verify',
  unit: 'operations',
  figures: { test: 5 * OPERATIONS, soak: 1000 * OPERATIONS },
  weight: 1,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    const cases = [
      (seed: string) => onFresh(places.memory, (place) => writeHere(place, 1, seed)),
      (seed: string) => onFresh(places.sqlite, (place) => writeHere(place, 1, seed)),
      // Several handles on PostgreSQL equal several processes.
      (seed: string) => onFresh(places.postgres, (place) => writeHere(place, 4, seed)),
      (seed: string) => onFresh(places.sqlite, (place) => writeElsewhere(place, place.address(), seed)),
      (seed: string) => onFresh(places.postgres, (place) => writeElsewhere(place, place.address(), seed)),
    ]
    return {
      async check({ number, seed }) {
        await cases[number % cases.length]?.(seed)
        return OPERATIONS
      },
      close: () => places.close(),
    }
  },
}

/** All callers in this process, through so many handles. */
async function writeHere(place: Place, handles: number, seed: string): Promise<void> {
  const vaults = await Promise.all(Array.from({ length: handles }, () => openClients(place.open())))
  const callers = CALLERS / handles
  const counts = await Promise.all(vaults.map((vault, n) => doOperations(vault, { name: `${n}`, callers, each: EACH, seed })))
  expect(counts).toEqual(vaults.map(() => callers * EACH))
  await assertWhole(place.open(), OPERATIONS)
}

/** Four processes of 16 callers each. */
async function writeElsewhere(place: Place, address: StorageAddress, seed: string): Promise<void> {
  const names = ['a', 'b', 'c', 'd']
  const callers = CALLERS / names.length
  const counts = await Promise.all(names.map((name) => inProcess(address, { name, callers, each: EACH, seed })))
  expect(counts).toEqual(names.map(() => callers * EACH))
  await assertWhole(place.open(), OPERATIONS)
}

/** Does the work in a separate process. Returns the number of its operations. */
async function inProcess(address: StorageAddress, work: Work): Promise<number> {
  const script = builtProcess(join(import.meta.dirname, '../support/audit/audit-writer-process.ts'))
  const { stdout } = await run(process.execPath, [script, JSON.stringify({ ...work, address })])
  return JSON.parse(stdout) as number // Written by that script.
}

/** Rejects unless there is one event for each operation, with distinct ids, in chains that verify. */
export async function assertWhole(storage: StorageHandle, operations: number): Promise<void> {
  const vault = await openClients(storage)
  expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: operations })
  const events = await eventsOf(vault)
  expect(new Set(events.map(({ changeID }) => changeID)).size).toBe(operations)
  expect(new Set(events.map(({ context }) => context.requestID)).size).toBe(operations)
}
