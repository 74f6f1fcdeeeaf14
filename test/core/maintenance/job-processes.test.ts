/** Jobs of processes that are killed, or that slept through a rotation of keys. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { openCatalog } from '../../../src/core/catalog/open-catalog.ts'
import type { JobKind, JobPorts } from '../../../src/core/maintenance/jobs.ts'
import { activateRootKey, addRootKey, changeKeys } from '../../../src/core/rotation/change-keys.ts'
import { MAINTENANCE } from '../../../src/core/schema/system-tables.ts'
import { readVersion } from '../../../src/core/sealing/envelope.ts'
import { builtProcess } from '../../support/cli/built-command.ts'
import { committedSlices, countingPass, openJobs, plantedTime, VAULT_ID } from '../../support/maintenance/planted-jobs.ts'
import { ENGINES, onEachStorage, type Place } from '../../support/storages/engines.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { TEST_SECRET } from '../../support/vaults/test-vault.ts'

const ROTATION = { kind: 'rotateKeys', exclusive: true } as const
const MINUTE = 60_000
const ALL = { order: 'asc', limit: 100 } as const

/** Runs a job in a process that has read nothing since another process replaced the root key. Returns the keys of its rows. */
async function rowsAfterRotation(place: Place, kind: JobKind, change?: (ports: JobPorts) => JobPorts): Promise<unknown> {
  const planted = plantedTime()
  const [own, other] = [place.open(), place.open()]
  const jobs = await openJobs(own, planted, { name: 'a:1', ...(change && { change }) })
  const keys = localKeys({ key: TEST_SECRET })
  const ports = { ...SYSTEM_PORTS, storage: other, keys, vaultId: VAULT_ID }
  const catalog = await openCatalog(ports, VAULT_ID, {})
  const version = await changeKeys(ports, catalog, () => addRootKey(ports, catalog))
  await activateRootKey(ports, catalog, { from: catalog.state, version, tables: [MAINTENANCE.name], waitMs: 1000 })
  return jobs.run(kind, {}, async (job) => {
    planted.time.ms += 20_000
    await job.advance({ rows: 1 })
    const rows = await other.find(MAINTENANCE.name, { kind: 'all' }, ALL)
    return rows.map(({ body }) => body instanceof Uint8Array && version - readVersion(body, 0, body.length))
  })
}

onEachStorage('the row of a job in a process that slept through a rotation', (engine) => {
  it.each([ROTATION, { kind: 'verifyAudit' } as const])('is sealed with the new key: %o', async (kind) => {
    expect(await rowsAfterRotation(engine.fresh(), kind)).toEqual([0])
  })

  it('would be sealed with the old one without a look at the catalog, which this test finds', async () => {
    const blind = (ports: JobPorts): JobPorts => ({
      ...ports,
      catalog: { keys: ports.catalog.keys, reload: ports.catalog.reload, isCurrent: async () => true },
    })
    expect(await rowsAfterRotation(engine.fresh(), ROTATION, blind)).toEqual([1])
  })
})

describe.each(['sqlite', 'postgres'] as const)('a killed process on %s', (name) => {
  const engine = ENGINES[name]()

  it('leaves its jobs listed and overdue; another goes on from its place, and forgets what was only listed', async () => {
    const place = engine.fresh()
    const [storage, planted] = [place.open(), plantedTime()]
    const jobs = await openJobs(storage, planted, { name: 'b:2' })
    const script = builtProcess(join(import.meta.dirname, '../../support/maintenance/killed-job-process.ts'))
    const child = spawn(process.execPath, [script, JSON.stringify(place.address())], { stdio: ['ignore', 'pipe', 'inherit'] })
    let lines = 0
    for await (const chunk of child.stdout) {
      lines += String(chunk).split('\n').length - 1
      if (lines >= 45) break
    }
    child.kill('SIGKILL')
    await once(child, 'exit')
    await expect(jobs.run(ROTATION, {}, async () => 'twice')).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('in process killed:1.'),
    })
    planted.time.ms += MINUTE + 1001
    const left = { process: 'killed:1', isOverdue: true }
    expect(await jobs.list()).toMatchObject([
      { job: 'rotateKeys', ...left },
      { job: 'verifyRecords', ...left },
    ])
    await jobs.sweep()
    expect(await jobs.list()).toMatchObject([{ job: 'rotateKeys', table: 'people', ...left }])
    const before = await committedSlices(storage)
    expect(before.length).toBeGreaterThanOrEqual(45)
    const slices = before.length + 30
    const rows = await jobs.run(ROTATION, {}, (job) => {
      const after = Number(job.place?.after)
      expect(after % 20).toBe(0)
      expect(after).toBeGreaterThan(before.length - 20 - 1)
      expect(after).toBeLessThanOrEqual(before.length)
      return job.pass(countingPass(storage, job, slices))
    })
    expect(rows).toBeLessThanOrEqual(10 * (30 + 20))
    expect(await committedSlices(storage)).toEqual(Array.from({ length: slices }, (_, index) => index + 1))
    expect(await jobs.list()).toEqual([])
  })
})
