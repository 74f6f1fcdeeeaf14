/** Changes of the schema under load of older and newer processes: every kind equals the model, its plan is exact, and ended anywhere it goes on. */
import { expect, it } from 'vitest'
import { BEFORE, expectModel, fillPeople, KINDS, openChanging, work } from '../../support/schema-change/changing-vault.ts'
import { onEachStorage } from '../../support/storages/engines.ts'

onEachStorage('a change of the schema', (engine) => {
  it.each(KINDS)('beside older processes that write and read: $name', async (kind) => {
    const place = engine.fresh()
    const older = [await openChanging(place.open(), BEFORE), await openChanging(place.open(), BEFORE)]
    const [changing] = older
    if (changing === undefined) return
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
})
