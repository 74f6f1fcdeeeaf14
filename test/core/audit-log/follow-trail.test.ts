/** Following the trail: every event once in order, also those that commit late and those of several processes, from any cursor. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { verifyExport } from '../../../src/audit-verifier/verify-export.ts'
import { moveVault } from '../../../src/transfer/index.ts'
import { eventsOf, openClients } from '../../support/audit/audited-clients.ts'
import { doOperations } from '../../support/audit/audited-work.ts'
import { batchesOf, highestIdPager, linesOf } from '../../support/audit/followed-trail.ts'
import { chainOf, changed, FOUND_BY_CHECKPOINT, openStoredTrail, without } from '../../support/audit/stored-trail.ts'
import { builtProcess } from '../../support/cli/built-command.ts'
import { randomFor } from '../../support/random/seeded-random.ts'
import { onEachStorage, postgresEngine } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const run = promisify(execFile)
const WRITER = builtProcess(join(import.meta.dirname, '../../support/audit/audit-writer-process.ts'))
const DELIVERED = { delivered: true } as const

const withoutEnds = (lines: readonly string[]) => lines.filter((line) => line.startsWith('{"digest"')).sort()

async function exported(vault: Parameters<typeof eventsOf>[0]): Promise<string[]> {
  const lines: string[] = []
  for await (const line of vault.exportAudit()) lines.push(line)
  return lines
}

onEachStorage('a follower', (engine) => {
  it('gives the lines of an export, by time, and goes on from any cursor', async () => {
    const vault = await openClients(engine.fresh().open())
    await doOperations(vault, { name: 'a', callers: 6, each: 12 })
    const batches = await batchesOf(vault)
    const lines = linesOf(batches)
    expect(withoutEnds(lines)).toEqual(withoutEnds(await exported(vault)))
    expect(await verifyExport(lines, DELIVERED)).toEqual({ ok: true, eventCount: 72, checkpoints: 0 })
    const times = batches.flatMap(({ events }) => events.map(({ timestamp }) => timestamp))
    expect(times).toEqual([...times].sort())
    await doOperations(vault, { name: 'b', callers: 3, each: 12 })
    const cursor = JSON.parse(JSON.stringify(batches.at(-1)?.cursor)) as (typeof batches)[number]['cursor'] // Of this test.
    const more = await batchesOf(vault, { after: cursor })
    expect(linesOf(more).some((line) => lines.includes(line))).toBe(false)
    expect(await verifyExport([...lines, ...linesOf(more)], DELIVERED)).toMatchObject({ ok: true, eventCount: 108 })
    expect(more.at(-1)?.behind).toBe(0)
  })

  it('gives events as they are listed, and records none', async () => {
    const vault = await openClients(engine.fresh().open())
    const { records } = await vault.as(OWNER).insert('clients', [{ fields: { name: 'Ann' } }])
    const stop = new AbortController()
    for await (const { events } of vault.followAudit({ listed: true, signal: stop.signal })) {
      expect(events.map(({ event }) => event?.request.resources)).toEqual([['TABLE/clients', `RECORD/${records[0]?.id}`]])
      stop.abort()
    }
    expect(await eventsOf(vault)).toHaveLength(1)
  })

  it('says, behind the last event, that the vault was moved away, and goes on where it is now', async () => {
    const [here, there] = [engine.fresh(), engine.fresh()]
    const vault = await openClients(here.open())
    await doOperations(vault, { name: 'a', callers: 3, each: 4 })
    await moveVault({ from: here.open(), to: there.open() })
    const given: string[] = []
    let after: Parameters<typeof vault.followAudit>[0] = {}
    const following = async () => {
      for await (const { events, cursor } of vault.followAudit()) {
        given.push(...events.map(({ line }) => line))
        after = { after: cursor }
      }
    }
    await expect(following()).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('The vault was moved out of this storage'),
    })
    expect(given).toHaveLength(12)
    const moved = await openClients(there.open())
    await doOperations(moved, { name: 'b', callers: 1, each: 5 })
    expect(linesOf(await batchesOf(moved, after)).filter((line) => given.includes(line))).toEqual([])
    expect(linesOf(await batchesOf(moved))).toHaveLength(17)
  })

  it('refuses other options, and a cursor of another vault', async () => {
    const vault = await openClients(engine.fresh().open())
    const follow = (options: object) => batchesOf({ followAudit: () => vault.followAudit(options) })
    await expect(follow({ pollMs: 1 })).rejects.toThrow('Follow failed. pollMs must be a number from 10 to 60000.')
    await expect(follow({ listed: 1 })).rejects.toThrow('Follow failed. listed must be true or false.')
    await expect(follow({ from: 1 })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(follow({ after: { vaultID: 'v2', chains: [] } })).rejects.toThrow(
      'Follow failed. after is a cursor of another vault.',
    )
    await expect(follow({ after: { vaultID: 'v1' } })).rejects.toThrow(
      'Follow failed. after must be a cursor that following gave.',
    )
  })
})

describe('on PostgreSQL', () => {
  const engine = postgresEngine()

  it('an event that commits late is given, which paging by the highest id passes over', async () => {
    const place = engine.fresh()
    const storage = place.open()
    const vault = await openClients(storage)
    const wrong = highestIdPager(storage)
    const seen = new Set<number>()
    let commit = () => {}
    const committed = new Promise<void>((resolve) => {
      commit = resolve
    })
    let isWritten = () => {}
    const written = new Promise<void>((resolve) => {
      isWritten = resolve
    })
    // Chain 1 gets its event first, and commits last.
    const late = vault.transaction(async (inside) => {
      await inside.as(OWNER).insert('clients', [{ fields: { name: 'late' } }])
      isWritten()
      await committed
    })
    await written
    await doOperations(await openClients(place.open()), { name: 'a', callers: 1, each: 3 })
    const before = await batchesOf(vault)
    expect(linesOf(before)).toHaveLength(3)
    for (const id of await wrong()) seen.add(id)
    commit()
    await late
    const cursor = before.at(-1)?.cursor
    const after = await batchesOf(vault, cursor === undefined ? {} : { after: cursor })
    for (const id of await wrong()) seen.add(id)
    expect(linesOf(after)).toHaveLength(1)
    expect(await verifyExport([...linesOf(before), ...linesOf(after)], DELIVERED)).toMatchObject({ ok: true, eventCount: 4 })
    expect(seen.size).toBe(3)
  })

  it('two processes that write are followed while they do, and nothing is passed over, other than by paging by the highest id', async () => {
    const place = engine.fresh()
    const storage = place.open()
    const vault = await openClients(storage)
    const wrong = highestIdPager(storage)
    const seen = new Set<number>()
    const work = { address: place.address(), callers: 6, each: 36 }
    const writers = ['a', 'b'].map((name) => run(process.execPath, [WRITER, JSON.stringify({ ...work, name })]))
    let areDone = false
    const total = Promise.all(writers).then((ended) => {
      areDone = true
      return ended.reduce((sum, { stdout }) => sum + Number(stdout), 0)
    })
    const lines: string[] = []
    let after: Awaited<ReturnType<typeof batchesOf>>[number]['cursor'] | undefined
    for (let last = false; ; last = areDone) {
      for (const id of await wrong()) seen.add(id)
      // A follower of its own for each look: what one gave is never given by the next.
      for (const batch of await batchesOf(vault, {
        ...(after === undefined ? {} : { after }),
        isEnough: (count) => count >= 40,
      })) {
        lines.push(...batch.events.map(({ line }) => line))
        after = batch.cursor
      }
      if (last && lines.length >= (await total)) break
    }
    expect(lines).toHaveLength(await total)
    expect(new Set(lines).size).toBe(lines.length)
    expect(await verifyExport(lines, DELIVERED)).toEqual({ ok: true, eventCount: lines.length, checkpoints: 0 })
    for (const id of await wrong()) seen.add(id)
    expect(seen.size).toBeLessThan(lines.length)
  })
})

describe('a trail that was changed in the database', () => {
  it('is reported once, and its other chains are given', async () => {
    const { vault, trail, write } = await openStoredTrail()
    const [first] = trail.events
    if (first === undefined) throw new Error('the trail has events')
    const others = trail.events.filter((row) => chainOf(row) !== chainOf(first)).length
    const looks: Record<string, Parameters<typeof write>[0]> = {
      'is missing': { ...trail, events: without(trail.events, first) },
      'cannot be read': { ...trail, events: changed(trail.events, first, { body: new Uint8Array(80) }) },
      "has a row timestamp that differs from the event's": { ...trail, events: changed(trail.events, first, { at: 1 }) },
      'cannot be found: the head of the chain cannot be read': {
        ...trail,
        heads: trail.heads.map((head) => (head.id === chainOf(first) ? { ...head, body: new Uint8Array(80) } : head)),
      },
    }
    for (const [problem, stored] of Object.entries(looks)) {
      await write(stored)
      const batches = await batchesOf(vault)
      const reason = `Event 1 of audit chain ${chainOf(first)} ${problem}.`
      expect(batches.flatMap(({ failures }) => failures)).toEqual([{ chain: chainOf(first), sequence: 1, reason }])
      expect(linesOf(batches)).toHaveLength(others)
    }
    await write(trail)
    expect(linesOf(await batchesOf(vault))).toHaveLength(trail.events.length)
  })

  it.each(Object.keys(FOUND_BY_CHECKPOINT))('is noticed by a follower that was at its end: %s', async (name) => {
    const { vault, trail, earlier, foreign, write } = await openStoredTrail()
    const cursor = (await batchesOf(vault)).at(-1)?.cursor
    for (let round = 0; round < 3; round++) {
      const below = randomFor(`${name}/${round}`).below
      const tampered = FOUND_BY_CHECKPOINT[name]?.(trail, { below, earlier, foreign })
      if (tampered === undefined) continue
      await write(tampered)
      const batches = await batchesOf(vault, cursor === undefined ? {} : { after: cursor })
      expect(batches.flatMap(({ failures }) => failures).length).toBeGreaterThan(0)
      expect(linesOf(batches)).toEqual([])
    }
  })
})
