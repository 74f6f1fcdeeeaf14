/** Adopting under live writers, killed in every state: rows and records are equal, and back is the table as it was. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { AdoptProcessOptions, FaultPoint } from '../support/adopt/adopt-process.ts'
import { fillCustomers, plainRows, vaultRows } from '../support/adopt/customers.ts'
import { runAdopt, startWriters } from '../support/adopt/drill.ts'
import { type Host, leftovers, onEachHost, openHost } from '../support/adopt/host.ts'

const ROWS = 600
const WRITERS = 2

onEachHost('adopting that is killed', (engine) => {
  let host: Host
  beforeEach(async () => {
    host = await openHost(engine)
    await fillCustomers(ROWS, host.script)
  })
  afterEach(() => host.close())

  /** Runs steps in a process that is killed at a fault point. Returns the state in which it was. */
  async function killed(steps: AdoptProcessOptions['steps'], fault: FaultPoint): Promise<string | undefined> {
    const { code, states } = await runAdopt({ address: host.address, steps, fault, maxRows: 100 })
    expect(code).toBeUndefined()
    return states.at(-1)?.state
  }

  it('ends with every row equal to its record, and goes back to the table as it was', async () => {
    const writers = startWriters(host.address, WRITERS, { rows: ROWS, thinkMs: 20, replaces: engine === 'sqlite' })
    expect(await killed(['run'], { at: 'create trigger', when: 'after' })).toBe('before run')
    expect(await killed(['run'], { at: '_map" ("id"', nth: 3, when: 'after' })).toBe('backfill')
    expect(await killed(['run'], { at: 'found = found +', nth: 2, when: 'after' })).toBe('verify')
    expect(await killed(['run', 'switchOver'], { at: 'switched', when: 'after' })).toBe('before switchOver')
    expect(await killed(['run', 'switchOver'], { at: 'strongroom: name', when: 'before' })).toBe('before switchOver')
    const adoption = await host.adopt({ maxRows: 100 })
    await adoption.run()
    const { lockMs } = await adoption.switchOver()
    expect(lockMs).toBeGreaterThan(0)
    const reports = await writers.stop()
    expect(reports.map(({ errors }) => errors)).toEqual(reports.map(() => ({})))
    // Old instances delete rows until their first write of plaintext is refused.
    await adoption.run()
    const plain = await plainRows(host)
    expect(await vaultRows(host)).toEqual({ rows: plain, records: plain.size })
    expect(await killed(['finish'], { at: 'as h set', nth: 3, when: 'after' })).toBe('finish')
    await adoption.finish()
    expect(await vaultRows(host)).toEqual({ rows: plain, records: plain.size })
    expect(await killed(['back'], { at: 'as h set', nth: 2, when: 'after', in: 'clearing' })).toBe('clearing')
    expect(await killed(['back'], { at: 'as h set', nth: 2, when: 'after', in: 'restoring' })).toBe('restoring')
    expect(await killed(['back'], { at: 'undoing', when: 'after' })).toBe('restoring')
    expect(await killed(['back'], { at: 'drop table', when: 'after' })).toBe('undoing')
    await adoption.back()
    expect(await plainRows(host)).toEqual(plain)
    expect(await leftovers(host)).toEqual([])
    expect(await host.vault.verifyAudit()).toMatchObject({ ok: true })
    expect(await host.vault.verifyRecords()).toMatchObject({ ok: true })
  })
})
