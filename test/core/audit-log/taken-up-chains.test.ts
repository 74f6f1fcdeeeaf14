/** Chains that no process holds any more are taken up again, so that processes that come and go leave few, and reads of events stay as cheap. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { AUDIT_CHAINS } from '../../../src/core/schema/system-tables.ts'
import { builtProcess } from '../../support/cli/built-command.ts'
import { onEachStorage, postgresEngine } from '../../support/storages/engines.ts'
import type { Place } from '../../support/storages/places.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const TABLES = { people: { name: { type: 'STRING' } } } as const
const NEW = [{ fields: { name: 'Ann' } }]

/** Longer than a chain must be quiet to be taken up, in milliseconds. */
const QUIET_MS = 2_001

const open = (place: Place, clock = { ms: Date.now() }) => openLoose(place.open(), TABLES, { clock })

/** Verifies the trail and its number of events, and returns the number of its chains. */
async function chainsOf(place: Place, eventCount: number): Promise<number> {
  const storage = place.open()
  const { vault } = await openLoose(storage, TABLES)
  expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount })
  return (await storage.find(AUDIT_CHAINS.name, { kind: 'all' }, { order: 'asc', limit: 2000 })).length
}

/** Rows that are read for the newest 100 events. */
async function rowsOfListing(place: Place): Promise<number> {
  const storage = place.open()
  let rows = 0
  const counted = async <T>(reading: Promise<readonly T[]>): Promise<readonly T[]> => {
    const found = await reading
    rows += found.length
    return found
  }
  const counting: StorageHandle = {
    ...storage,
    get: (...given) => counted(storage.get(...given)),
    find: (...given) => counted(storage.find(...given)),
  }
  const { vault } = await openLoose(counting, TABLES)
  rows = 0
  await vault.as(OWNER).listEvents({ filterOps: { accountID: 'v1' }, limit: 100 })
  return rows
}

onEachStorage('processes that come and go', (engine) => {
  it('leave one chain if each closes its vault, which goes on with it, and events are read as after one writer', async () => {
    // A storage in memory is of one process.
    const staysOpen = engine.name === 'memory'
    const [many, one] = [engine.fresh(), engine.fresh()]
    const [writer, only] = [await open(one), await open(many)]
    for (let n = 0; n < 60; n++) {
      const { vault, session } = staysOpen ? only : await open(many)
      await session.insert('people', NEW)
      await vault.transaction(async (inside) => inside.as(OWNER).insert('people', NEW))
      if (!staysOpen) await vault.close()
      for (let event = 0; event < 2; event++) await writer.session.insert('people', NEW)
    }
    expect(await chainsOf(many, 120)).toBe(1)
    expect(await rowsOfListing(many)).toBeLessThanOrEqual(1.5 * (await rowsOfListing(one)))
  })
})

describe('on PostgreSQL', () => {
  const engine = postgresEngine()

  it('processes that end without closing leave chains that are taken up when they have been quiet, and not before', async () => {
    const place = engine.fresh()
    const clock = { ms: Date.now() }
    for (let round = 0; round < 5; round++) {
      for (let n = 0; n < 3; n++) await (await open(place, clock)).session.insert('people', NEW)
      clock.ms += QUIET_MS
    }
    expect(await chainsOf(place, 15)).toBe(3)
  })

  it('no two of many processes that begin at once take up one chain', async () => {
    const place = engine.fresh()
    const clock = { ms: Date.now() }
    for (let round = 1; round <= 3; round++) {
      const vaults = await Promise.all(Array.from({ length: 8 }, () => open(place, clock)))
      for (let call = 0; call < 3; call++) await Promise.all(vaults.map(({ session }) => session.insert('people', NEW)))
      if (round === 1) for (const { vault } of vaults) await vault.close()
      else clock.ms += QUIET_MS
    }
    expect(await chainsOf(place, 72)).toBeLessThanOrEqual(16)
  })

  it('a process whose chain was taken up while it was quiet goes on in another, and neither fails a call', async () => {
    const place = engine.fresh()
    const clock = { ms: Date.now() }
    const { session: first } = await open(place, clock)
    await first.insert('people', NEW)
    clock.ms += QUIET_MS
    const { session: second } = await open(place, clock)
    for (let turn = 0; turn < 4; turn++) {
      await second.insert('people', NEW)
      await first.insert('people', NEW)
    }
    expect(await chainsOf(place, 9)).toBe(2)
  })

  it('a chain with an open transaction is not taken up, however long it is quiet', async () => {
    const place = engine.fresh()
    const clock = { ms: Date.now() }
    const { vault, session } = await open(place, clock)
    await session.insert('people', NEW)
    await vault.transaction(async (inside) => {
      await inside.as(OWNER).insert('people', NEW)
      clock.ms += QUIET_MS
      await (await open(place, clock)).session.insert('people', NEW)
    })
    expect(await chainsOf(place, 3)).toBe(2)
  })

  it('a chain whose head was changed is not taken up', async () => {
    const place = engine.fresh()
    const { vault, session } = await open(place)
    await session.insert('people', NEW)
    await vault.close()
    const other = place.open()
    await other.prepare([AUDIT_CHAINS])
    const [row] = await other.get(AUDIT_CHAINS.name, [1])
    const version = row?.version ?? 0
    await other.update(AUDIT_CHAINS.name, [{ id: 1, version, set: { body: new Uint8Array(99), released: version + 1 } }])
    await (await open(place)).session.insert('people', NEW)
    expect((await other.find(AUDIT_CHAINS.name, { kind: 'all' }, { order: 'asc', limit: 10 })).map(({ id }) => id)).toEqual([
      1, 2,
    ])
  })

  it('real processes that close or are killed leave no more chains than live at once', async () => {
    const place = engine.fresh()
    await (await openPeople(place.open())).close()
    const address = JSON.stringify(place.address())
    const script = builtProcess(join(import.meta.dirname, 'short-process.ts'))
    const run = (end: string) =>
      promisify(execFile)(process.execPath, [script, address, end]).catch(({ signal }: { signal?: string }) =>
        expect([end, signal]).toEqual(['kill', 'SIGKILL']),
      )
    for (const end of ['close', 'kill', 'close', 'close']) await run(end)
    const storage = place.open()
    const vault = await openPeople(storage)
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 4 })
    const chains = await storage.find(AUDIT_CHAINS.name, { kind: 'all' }, { order: 'asc', limit: 100 })
    expect(chains.length).toBeLessThanOrEqual(2)
  })
})
