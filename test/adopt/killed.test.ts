/** Adopting under live writers, killed in every state: rows and records are equal, and back is the table as it was. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { AdoptProcessOptions, FaultPoint } from '../support/adopt/adopt-process.ts'
import { fillCustomers, plainRows, vaultRows } from '../support/adopt/customers.ts'
import { runAdopt, startWriters } from '../support/adopt/drill.ts'
import { type Host, leftovers, onEachHost, openHost } from '../support/adopt/host.ts'
import { killEvery } from '../support/trials/kill-every.ts'

const ROWS = 300
/** Rows of a step: there are some in each state. */
const STEP = 50
const WRITERS = 2

onEachHost('adopting that is killed', (engine) => {
  let host: Host
  beforeEach(async () => {
    host = await openHost(engine)
    await fillCustomers(ROWS, host.script)
  })
  afterEach(() => host.close())

  /** The engines take the fault points in turn: what is above the statements is the same on each. */
  const every = killEvery(engine, { memory: 1, sqlite: 2, postgres: 2 })
  let points = engine === 'sqlite' ? 0 : 1

  /** Runs steps in a process that is killed at a fault point, in this state; or does nothing, if the point is the other engine's. */
  async function kill(steps: AdoptProcessOptions['steps'], fault: FaultPoint, state: string): Promise<void> {
    if (points++ % every !== 0) return
    const { code, states } = await runAdopt({ address: host.address, steps, fault, maxRows: STEP })
    expect(code).toBeUndefined()
    expect(states.at(-1)?.state).toBe(state)
  }

  it('ends with every row equal to its record, and goes back to the table as it was', async () => {
    const writers = startWriters(host.address, WRITERS, { rows: ROWS, thinkMs: 20, replaces: engine === 'sqlite' })
    await kill(['run'], { at: 'create trigger', when: 'after' }, 'before run')
    await kill(['run'], { at: '_map" ("id"', nth: 3, when: 'after' }, 'backfill')
    await kill(['run'], { at: 'found = found +', nth: 2, when: 'after' }, 'verify')
    await kill(['run', 'switchOver'], { at: 'switched', when: 'after' }, 'before switchOver')
    await kill(['run', 'switchOver'], { at: 'strongroom: name', when: 'before' }, 'before switchOver')
    const adoption = await host.adopt({ maxRows: STEP })
    await adoption.run()
    const { lockMs } = await adoption.switchOver()
    expect(lockMs).toBeGreaterThan(0)
    const reports = await writers.stop()
    expect(reports.map(({ errors }) => errors)).toEqual(reports.map(() => ({})))
    // Old instances delete rows until their first write of plaintext is refused.
    await adoption.run()
    const plain = await plainRows(host)
    expect(await vaultRows(host)).toEqual({ rows: plain, records: plain.size })
    await kill(['finish'], { at: 'as h set', nth: 3, when: 'after' }, 'finish')
    await adoption.finish()
    expect(await vaultRows(host)).toEqual({ rows: plain, records: plain.size })
    await kill(['back'], { at: 'as h set', nth: 2, when: 'after', in: 'clearing' }, 'clearing')
    await kill(['back'], { at: 'as h set', nth: 2, when: 'after', in: 'restoring' }, 'restoring')
    await kill(['back'], { at: 'undoing', when: 'after' }, 'restoring')
    await kill(['back'], { at: 'drop table', when: 'after' }, 'undoing')
    await adoption.back()
    expect(await plainRows(host)).toEqual(plain)
    expect(await leftovers(host)).toEqual([])
    expect(await host.vault.verifyAudit()).toMatchObject({ ok: true })
    expect(await host.vault.verifyRecords()).toMatchObject({ ok: true })
  })
})
