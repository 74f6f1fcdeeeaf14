/** Values of every type pass into the vault and back, byte by byte; what would not is found by the plan. */
import { afterEach, expect, it } from 'vitest'
import { column, defineSchema, type SchemaDefinition } from '../../src/index.ts'
import { type Host, onEachHost, openHost } from '../support/adopt/host.ts'

const TYPED = defineSchema<SchemaDefinition>({
  typed: {
    t: column.string(),
    i: column.integer(),
    f: column.float(),
    n: column.decimal({ scale: 2, unique: true }),
    w: column.decimal({ scale: 1 }),
    b: column.boolean(),
    d: column.date(),
    z: column.datetime(),
    j: column.json(),
  },
})

let host: Host
afterEach(() => host.close())

onEachHost('values of adopted columns', (engine) => {
  const types =
    engine === 'sqlite'
      ? 't text, i integer, f real, n decimal(12, 2), w integer, b integer, d text, z text, j text'
      : 't text, i bigint, f float8, n numeric(12, 2), w bigint, b boolean, d date, z timestamptz, j jsonb'
  const truth = engine === 'sqlite' ? ['1', '0'] : ['true', 'false']

  it('come back as they were', async () => {
    host = await openHost(engine, `create table typed (id {big} primary key, ${types})`, TYPED)
    await host.script(`insert into typed values (1, 'é "\\ ''', 9007199254740993, 0.1, 1200.50, 7, ${truth[0]}, '2026-01-31', '2026-01-31T10:00:00.123456Z', '{"a": [1]}'),
      (2, '', -1, 1e300, -0.05, -12, ${truth[1]}, '0001-01-01', '1999-12-31T23:59:59Z', '[]'), (3, null, null, null, null, null, null, null, null, null)`)
    if (engine === 'sqlite') await host.script(`update typed set j = '{"a":[1]}' where id = 1`)
    const text = `select id, t, cast(i as text), cast(f as text), cast(n as text), cast(w as text), b, cast(d as text), cast(z as text), cast(j as text) from typed order by id`
    const before = await host.all(text)
    const adoption = await host.adopt({ table: 'typed' })
    expect((await adoption.plan()).findings).toEqual([])
    await adoption.run()
    await adoption.switchOver()
    await adoption.finish()
    await adoption.back()
    expect(await host.all(text)).toEqual(before)
  })

  it('that would come back in another form are found by the plan', async () => {
    host = await openHost(engine, `create table typed (id {big} primary key, z text, j text)`, TYPED)
    await host.script(`insert into typed values (1, '2026-01-31T10:00:00+02:00', '{"a": 1}')`)
    const { findings } = await (await host.adopt({ table: 'typed' })).plan()
    expect(findings).toMatchObject([{ level: 'refused', code: 'altered', rows: 1 }])
  })
})
