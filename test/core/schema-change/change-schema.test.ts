/** Changes of the schema under load of older and newer processes: every kind equals the model, its plan is exact, and ended anywhere it goes on. */
import { expect, it } from 'vitest'
import type { PhysicalIndex, Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { VaultError } from '../../../src/index.ts'
import {
  BEFORE,
  clockAfter,
  expectModel,
  fillPeople,
  KINDS,
  openChanging,
  work,
} from '../../support/schema-change/changing-vault.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { killEvery } from '../../support/trials/kill-every.ts'
import { portsFaster } from '../../support/vaults/fast-ports.ts'

/** A clock that is ahead by more than the lease of a job. */
const LATER = clockAfter(1)
/** Where only one process works at a time, none waits long until others have looked: 15 ms. */
const FASTER = portsFaster(1000)

/** A process that ends before its n-th call of the storage, counted from `begin` on: none of its calls is answered after that. */
function mortal(sound: StorageHandle) {
  let left = Number.POSITIVE_INFINITY
  const live =
    <Args extends unknown[], T>(call: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      if (--left < 0) throw new VaultError('data_loss', 'The process was killed.')
      return call(...args)
    }
  const wrap = (inner: Storage): Storage => ({
    ...inner,
    prepare: live(inner.prepare),
    reserveIds: live(inner.reserveIds),
    insert: live(inner.insert),
    get: live(inner.get),
    find: live(inner.find),
    update: live(inner.update),
    commit: live(inner.commit),
    delete: live(inner.delete),
    aggregate: live(inner.aggregate),
    lock: live(inner.lock),
    transaction: (work, options) =>
      inner.transaction(async (within) => {
        const result = await work(wrap(within))
        // It can end with all of its work done and nothing committed.
        await live(async () => {})()
        return result
      }, options),
  })
  return {
    storage: { ...sound, ...wrap(sound) },
    begin: (calls: number) => {
      left = calls
    },
    isDead: () => left < 0,
  }
}

/** A storage that remembers the indexes that were dropped. */
function noting(sound: StorageHandle) {
  const dropped: PhysicalIndex[] = []
  const storage: StorageHandle = {
    ...sound,
    async drop(targets, options) {
      await sound.drop(targets, options)
      for (const target of targets) if (target.kind === 'index') dropped.push(target.index)
    },
  }
  return { storage, dropped }
}

onEachStorage('a change of the schema', (engine) => {
  it.each(KINDS)('beside older processes that write and read: $name', async (kind) => {
    const place = engine.fresh()
    const { storage, dropped } = noting(place.open())
    const changing = await openChanging(storage, BEFORE)
    const older = [changing, await openChanging(place.open(), BEFORE)]
    const model = await fillPeople(changing, 300)
    const plan = await changing.planSchemaChange(kind.after, kind.moves)
    expect(plan.refusals).toEqual([])
    expect(plan.steps.map((step) => step.kind)).toEqual(kind.steps)
    for (const { kind: step, rows, what } of plan.steps) expect(rows).toBe(step === 'now' || what.includes('dropped') ? 0 : 300)
    let isOver = false
    const busy = older.map((vault, n) => work(vault, model, { writer: `${n + 1}00`, isOver: () => isOver }))
    await changing.applySchemaChange(plan).finally(() => {
      isOver = true
    })
    expect(dropped).toHaveLength(plan.steps.filter(({ what }) => what === 'an index is dropped').length)
    for (const rounds of await Promise.all(busy)) expect(rounds).toBeGreaterThan(2)
    const newer = [
      await openChanging(place.open(), kind.after, { schemaChanges: 'refuse' }),
      await openChanging(place.open(), kind.after),
    ]
    for (const vault of newer) await expectModel(vault, model, kind)
    // The older ones go on, and one that is opened now too.
    const late = await openChanging(place.open(), BEFORE, { schemaChanges: 'refuse' })
    for (const [n, vault] of [...older, late].entries()) await work(vault, model, { writer: `${n + 4}00`, isOver: () => true })
    for (const vault of newer) await expectModel(vault, model, kind)
    expect((await newer[0]?.planSchemaChange(kind.after))?.steps).toEqual([])
  })

  const KILLED = engine.name === 'memory' ? KINDS : KINDS.filter(({ name }) => name === 'several at once')
  const every = killEvery(engine.name, { memory: 16, sqlite: 27, postgres: 27 })
  it.each(KILLED)(
    `goes on after a kill before any call of the storage, of which one in ${every} is tried: $name`,
    { timeout: 120_000 },
    async (kind) => {
      let kills = 0
      // Kinds have most of their calls in common, and each begins at another one.
      for (let calls = KINDS.indexOf(kind) % every, isKilled = true; isKilled; calls += every) {
        const place = engine.fresh()
        const older = await openChanging(place.open(), BEFORE, FASTER)
        const model = await fillPeople(older, 5)
        const { storage, begin, isDead } = mortal(place.open())
        const killed = await openChanging(storage, BEFORE, FASTER)
        const plan = await killed.planSchemaChange(kind.after, kind.moves)
        begin(calls)
        await killed.applySchemaChange(plan).catch(() => {})
        isKilled = isDead()
        if (isKilled) kills++
        await work(older, model, { writer: '100', isOver: () => true })
        const going = await openChanging(place.open(), BEFORE, { ...FASTER, clock: LATER })
        await going.applySchemaChange(plan)
        await work(older, model, { writer: '200', isOver: () => true })
        await expectModel(
          await openChanging(place.open(), kind.after, { ...FASTER, schemaChanges: 'refuse', clock: LATER }),
          model,
          kind,
        )
        expect((await older.planSchemaChange(kind.after)).steps).toEqual([])
      }
      expect(kills).toBeGreaterThan(2)
    },
  )
})
