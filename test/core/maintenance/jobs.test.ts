/** Jobs: one process at a time does what is exclusive, another goes on from its place, all are listed, and each keeps its pace. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { Job, JobPlace } from '../../../src/core/maintenance/job.ts'
import type { Jobs } from '../../../src/core/maintenance/jobs.ts'
import type { Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { MAINTENANCE } from '../../../src/core/schema/system-tables.ts'
import { createAbortable } from '../../../src/core/util/signal.ts'
import { BEGIN, committedSlices, countingPass, openJobs, plantedTime } from '../../support/maintenance/planted-jobs.ts'
import { abortedAt } from '../../support/signals/aborted-at.ts'
import { onEachStorage, type Place } from '../../support/storages/engines.ts'
import { interposedStorage } from '../../support/storages/interposed-storage.ts'

const ROTATION = { kind: 'rotateKeys', exclusive: true } as const
const MINUTE = 60_000
const ALL = { order: 'asc', limit: 100 } as const

/** A run that waits inside its work until it is ended. */
function held() {
  const begun = Promise.withResolvers<Job>()
  const end = Promise.withResolvers<void>()
  const work = async (job: Job): Promise<string> => {
    begun.resolve(job)
    await end.promise
    return 'done'
  }
  return { begun: begun.promise, end, work }
}

onEachStorage('an exclusive job', (engine) => {
  it('is refused to a second process with when and where it runs, listed from there, and free again at its end', async () => {
    const planted = plantedTime()
    const place = engine.fresh()
    const [first, second] = [
      await openJobs(place.open(), planted, { name: 'a:1' }),
      await openJobs(place.open(), planted, { name: 'b:2' }),
    ]
    const one = held()
    const running = first.run(ROTATION, {}, one.work)
    const job = await one.begun
    job.expect(1000)
    await expect(second.run(ROTATION, {}, async () => 'twice')).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('rotateKeys has been running since 2026-01-31T00:00:00.000Z in process a:1.'),
    })
    expect(await second.run({ kind: 'rotateLookups', exclusive: true }, {}, async () => 'other')).toBe('other')
    planted.time.ms += 20_000
    await job.advance({ rows: 7, table: 'people' })
    const startedAt = BEGIN
    expect(await second.list()).toEqual([
      {
        job: 'rotateKeys',
        table: 'people',
        done: 7,
        total: 1000,
        startedAt,
        renewedAt: startedAt + 20_000,
        process: 'a:1',
        isOverdue: false,
      },
    ])
    const reports: unknown[] = []
    const growing = async (grown: Job) => {
      grown.expect(2)
      await grown.advance({ rows: 3 })
    }
    await second.run({ kind: 'verifyRecords' }, { report: async (progress) => void reports.push(progress) }, growing)
    expect(reports).toEqual([{ done: 3, total: 3 }])
    planted.time.ms += MINUTE - 1
    await expect(second.run(ROTATION, {}, async () => 'twice')).rejects.toMatchObject({ code: 'failed_precondition' })
    one.end.resolve()
    expect(await running).toBe('done')
    expect(await second.list()).toEqual([])
    expect(await second.run(ROTATION, {}, async ({ place: none }) => none)).toBeUndefined()
  })

  it('is taken over from a process that died, at its place, and the one that wakes later is ended with its slice', async () => {
    const planted = plantedTime()
    const place = engine.fresh()
    const [storage, other] = [place.open(), place.open()]
    const [first, second] = [await openJobs(storage, planted, { name: 'a:1' }), await openJobs(other, planted, { name: 'b:2' })]
    const stopped = Promise.withResolvers<void>()
    const dead = first.run(ROTATION, {}, async (job) => {
      const pass = countingPass(storage, job, 100)
      for (let slices = 0; slices < 25; slices++) await job.advance(await pass.slice())
      stopped.resolve()
      await until(() => planted.time.ms > BEGIN + 2 * MINUTE)
      await pass.slice()
    })
    await stopped.promise
    planted.time.ms += MINUTE
    expect(await second.list()).toMatchObject([{ job: 'rotateKeys', process: 'a:1', isOverdue: true }])
    const taken = held()
    const places: (JobPlace | undefined)[] = []
    const running = second.run(ROTATION, {}, async (job) => {
      places.push(job.place)
      await taken.work(job)
      return job.pass(countingPass(other, job, 30))
    })
    await taken.begun
    expect(places).toEqual([{ target: 2, after: 20 }])
    planted.time.ms += MINUTE + 1
    taken.end.resolve()
    await expect(dead).rejects.toMatchObject({ code: 'aborted', message: expect.stringContaining('was taken over') })
    expect(await running).toBe(100)
    expect(await second.list()).toEqual([])
  })

  it('that was aborted goes on at once, exactly where it ended, and counts on', async () => {
    const planted = plantedTime()
    const storage = engine.fresh().open()
    const jobs = await openJobs(storage, planted, { name: 'a:1' })
    const run = (signal?: ReturnType<typeof abortedAt>) =>
      jobs.run(ROTATION, { signal, report: async (progress) => void seen.push(progress.done) }, (job) =>
        job.pass(countingPass(storage, job, 9)),
      )
    const seen: number[] = []
    await expect(run(abortedAt(4))).rejects.toMatchObject({ code: 'cancelled' })
    expect(await jobs.list()).toMatchObject([{ done: 30, isOverdue: true }])
    await run()
    expect(seen).toEqual([10, 20, 30, 40, 50, 60, 70, 80, 90])
    expect(await committedSlices(storage)).toHaveLength(9)
    expect(await storage.find(MAINTENANCE.name, { kind: 'all' }, ALL)).toEqual([])
  })

  it('that fails before it has a place leaves nothing', async () => {
    const jobs = await openJobs(engine.fresh().open(), plantedTime(), { name: 'a:1' })
    const own = new Error('own')
    await expect(jobs.run(ROTATION, {}, () => Promise.reject(own))).rejects.toBe(own)
    expect(await jobs.list()).toEqual([])
  })

  it('does not keep the place of a slice that was rolled back', async () => {
    const planted = plantedTime()
    const storage = engine.fresh().open()
    const jobs = await openJobs(storage, planted, { name: 'a:1' })
    const run = jobs.run(ROTATION, {}, async (job) => {
      for (let after = 1; ; after++) {
        await storage.transaction(async (inner) => {
          await job.savePlace(inner, { after })
          if (after === 20) throw new Error('slice 20')
        })
        await job.advance({ rows: 1 })
      }
    })
    await expect(run).rejects.toThrow('slice 20')
    const place = (isStopped: boolean) =>
      jobs.run(ROTATION, {}, async (job) => {
        expect(job.place).toEqual({ after: 19 })
        if (isStopped) throw new Error('stopped')
      })
    await expect(place(true)).rejects.toThrow('stopped')
    await place(false)
  })

  it('begins anew over a row that was changed, once its lease is over', async () => {
    const planted = plantedTime()
    const storage = engine.fresh().open()
    const jobs = await openJobs(storage, planted, { name: 'a:1' })
    const one = held()
    const dead = jobs.run(ROTATION, {}, one.work)
    await one.begun
    const [row] = await storage.find(MAINTENANCE.name, { kind: 'all' }, ALL)
    if (row === undefined) throw new Error('no row')
    await storage.update(MAINTENANCE.name, [{ id: row.id, version: row.version, set: { body: new Uint8Array(90).fill(1) } }])
    expect(await jobs.list()).toEqual([])
    await expect(jobs.run(ROTATION, {}, async () => 'twice')).rejects.toMatchObject({ code: 'failed_precondition' })
    planted.time.ms += MINUTE
    expect(await jobs.run(ROTATION, {}, async ({ place }) => ({ place }))).toEqual({ place: undefined })
    one.end.resolve()
    await dead
  })
})

/** Lets two processes take over an ended lease at the same moment. Returns how many of them do the work. */
async function takeOverAtOnce(place: Place, change: (sound: StorageHandle) => StorageHandle): Promise<number> {
  const planted = plantedTime()
  const { storage: late, interpose } = interposedStorage(change(place.open()))
  const [first, second] = [await openJobs(late, planted, { name: 'a:1' }), await openJobs(place.open(), planted, { name: 'b:2' })]
  await endEarly(first, late)
  const one = held()
  let runs = 0
  const work = (job: Job): Promise<string> => {
    runs++
    return one.work(job)
  }
  let other: Promise<unknown> | undefined
  interpose({
    isDue: ({ method }) => method === 'begin',
    async work() {
      other = second.run(ROTATION, {}, work)
      await one.begun
    },
  })
  const own = first.run(ROTATION, {}, work)
  await Promise.race([own.catch(() => {}), until(() => runs === 2)])
  one.end.resolve()
  await Promise.allSettled([own, other])
  expect(other).toBeDefined()
  return runs
}

/** Leaves the row of a run that has failed: its lease is over, and it has a place. */
async function endEarly(jobs: Jobs, storage: Storage): Promise<void> {
  const run = jobs.run(ROTATION, {}, async (job) => {
    await storage.transaction((inner) => job.savePlace(inner, { target: 2 }))
    await job.advance({ rows: 1 })
    throw new Error('ended early')
  })
  await expect(run).rejects.toThrow('ended early')
}

/** A storage that changes rows of jobs whatever their version is. */
function withoutVersions<S extends Storage>(sound: S): S {
  return {
    ...sound,
    async update(table, patches) {
      if (table !== MAINTENANCE.name) return sound.update(table, patches)
      const rows = await sound.get(
        table,
        patches.map(({ id }) => id),
      )
      return sound.update(
        table,
        patches.map((patch, index) => ({ ...patch, version: rows[index]?.version ?? 0 })),
      )
    },
    transaction: (work, options) => sound.transaction((inner) => work(withoutVersions(inner)), options),
  }
}

onEachStorage('an ended lease', (engine) => {
  it('is taken over by one of two processes at once', async () => {
    expect(await takeOverAtOnce(engine.fresh(), (storage) => storage)).toBe(1)
  })

  it('is taken over by both without compare-and-set, which this test finds', async () => {
    expect(await takeOverAtOnce(engine.fresh(), withoutVersions)).toBe(2)
  })
})

onEachStorage('a job that is only listed', (engine) => {
  it('has no row in its first second, one a process and run then, and none at its end', async () => {
    const planted = plantedTime()
    const place = engine.fresh()
    const storage = place.open()
    const [first, second] = [
      await openJobs(storage, planted, { name: 'a:1' }),
      await openJobs(place.open(), planted, { name: 'b:2' }),
    ]
    const runs = [held(), held()]
    const ended = runs.map(({ work }, index) => (index === 0 ? first : second).run({ kind: 'verifyRecords' }, {}, work))
    const [left, right] = [await runs[0]?.begun, await runs[1]?.begun]
    planted.time.ms += 999
    await left?.advance({ rows: 1 })
    expect(await second.list()).toEqual([])
    planted.time.ms += 1
    await left?.advance({ rows: 1, table: 'people' })
    await right?.advance({ rows: 5 })
    const listed = [
      { process: 'a:1', done: 2, table: 'people', isOverdue: false },
      { process: 'b:2', done: 5, isOverdue: false },
    ]
    expect(await second.list()).toMatchObject(listed)
    expect(await first.list()).toEqual(await second.list())
    // What a row says of the data is sealed.
    for (const row of await storage.find(MAINTENANCE.name, { kind: 'all' }, ALL)) {
      expect(row).toMatchObject({ job: null, body: expect.any(Uint8Array) })
      expect(Buffer.from(row.body as Uint8Array).toString('latin1')).not.toMatch(/people|verify|done/)
    }
    for (const { end } of runs) end.resolve()
    await Promise.all(ended)
    expect(await storage.find(MAINTENANCE.name, { kind: 'all' }, ALL)).toEqual([])
  })

  it('of a process that died is overdue, then swept; one that was only slow is listed again', async () => {
    const planted = plantedTime()
    const place = engine.fresh()
    const [first, second] = [
      await openJobs(place.open(), planted, { name: 'a:1' }),
      await openJobs(place.open(), planted, { name: 'b:2' }),
    ]
    const one = held()
    const running = first.run({ kind: 'verifyAudit' }, {}, one.work)
    const job = await one.begun
    planted.time.ms += 1000
    await job.advance({ rows: 3 })
    planted.time.ms += MINUTE
    expect(await second.list()).toMatchObject([{ process: 'a:1', isOverdue: true }])
    planted.time.ms += 1
    await second.sweep()
    expect(await second.list()).toEqual([])
    await job.keep()
    expect(await second.list()).toMatchObject([{ process: 'a:1', done: 3, isOverdue: false }])
    one.end.resolve()
    await running
    expect(await second.list()).toEqual([])
  })

  it('goes on if its row cannot be stored; an exclusive one does not', async () => {
    const planted = plantedTime()
    const storage = engine.fresh().open()
    let isBroken = false
    const transaction: Storage['transaction'] = (work, options) =>
      isBroken ? Promise.reject(new Error('broken')) : storage.transaction(work, options)
    const jobs = await openJobs({ ...storage, transaction }, planted, { name: 'a:1' })
    isBroken = true
    const work = async (job: Job): Promise<string> => {
      planted.time.ms += 2000
      await job.advance({ rows: 1 })
      return 'done'
    }
    expect(await jobs.run({ kind: 'sweep' }, {}, work)).toBe('done')
    await expect(jobs.run(ROTATION, {}, work)).rejects.toThrow('broken')
    isBroken = false
    const losing = async (job: Job): Promise<string> => {
      isBroken = true
      planted.time.ms += 20_000
      return work(job)
    }
    await expect(jobs.run(ROTATION, {}, losing)).rejects.toThrow('broken')
  })
})

describe('the pace of a job', () => {
  it('gives each slice its time, less what it took, and keeps the row meanwhile', async () => {
    const planted = plantedTime()
    const { time } = planted
    const jobs = await openJobs(memoryStorage(), planted, { name: 'a:1' })
    const took = [0, 400, 2000, 0]
    const ended: number[] = []
    const start = time.ms
    await jobs.run({ kind: 'sweep' }, { pace: 10 }, (job) =>
      job.pass({
        async slice() {
          ended.push(time.ms - start)
          time.ms += took.shift() ?? 0
          return { rows: 10, isLast: took.length === 0 }
        },
      }),
    )
    // Ten rows at ten rows a second are a second; a slice that took two is not made up for.
    expect(ended).toEqual([0, 1000, 2000, 4000])
    expect(time.waits).toEqual([1000, 600, 1000])
    await jobs.run({ kind: 'sweep' }, { pace: 1 }, async (job) => {
      time.waits = []
      await job.advance({ rows: 40 })
      expect(time.waits).toEqual([15_000, 15_000, 10_000])
      expect(await jobs.list()).toMatchObject([{ done: 40, renewedAt: time.ms - 10_000 }])
    })
  })

  it('is not waited for after an abort', async () => {
    const planted = plantedTime()
    const jobs = await openJobs(memoryStorage(), planted, { name: 'a:1' })
    const { signal, abort } = createAbortable()
    const timer = { after: () => () => void stopped.push(true) }
    const stopped: boolean[] = []
    const waiting = await openJobs(memoryStorage(), planted, { name: 'a:1', change: (ports) => ({ ...ports, timer }) })
    const run = waiting.run({ kind: 'sweep' }, { signal, pace: 1 }, (job) => job.advance({ rows: 1000 }))
    setImmediate(abort)
    await expect(run).rejects.toMatchObject({ code: 'cancelled' })
    expect(stopped).toEqual([true])
    expect(await jobs.list()).toEqual([])
  })
})

it('a pass runs every slice, reports the rows so far, and yields between two slices', async () => {
  const events: string[] = []
  const planted = plantedTime()
  const scheduler = { yield: async () => void events.push('yield') }
  const jobs = await openJobs(memoryStorage(), planted, { name: 'a:1', change: (ports) => ({ ...ports, scheduler }) })
  const sizes = [3, 2, 0]
  const pass = { slice: async () => ({ rows: sizes.shift() ?? 0, isLast: sizes.length === 0 }) }
  const report = async ({ done }: { done: number }): Promise<void> => void events.push(`${done} rows`)
  expect(await jobs.run({ kind: 'sweep' }, { report }, (job) => job.pass(pass))).toBe(5)
  expect(events).toEqual(['3 rows', 'yield', '5 rows', 'yield', '5 rows'])
})

function until(isOver: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => void (isOver() ? resolve() : setImmediate(look))
    look()
  })
}
