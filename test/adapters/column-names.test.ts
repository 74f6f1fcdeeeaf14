/** Physical columns of any name: names of objects, of statements and of what statements make. */
import { expect, it } from 'vitest'
import type { PhysicalTable } from '../../src/core/ports/storage.ts'
import { onEachStorage } from '../support/storages/engines.ts'

const NAMES = ['row', 'wanted', 'wanted_', 'w', 't', 'ids', 'listed', 'constructor', 'valueOf', 'hasOwnProperty', 'then'] as const
const ROWS = 600

/** An index holds all that the filters below read, so that ids can be found first. */
const TABLE: PhysicalTable = {
  name: 'named',
  columns: NAMES.map((name) => ({ name, type: 'bytes' })),
  indexes: NAMES.map((name) => ({ columns: [name], unique: false })),
}

function rowOf(id: number) {
  return { id, ...Object.fromEntries(NAMES.map((name, place) => [name, new Uint8Array([id % 7, place])])) }
}

onEachStorage('columns of any name', (engine) => {
  it('are found, read and given out', async () => {
    const storage = engine.fresh().open()
    await storage.prepare([TABLE])
    const rows = Array.from({ length: ROWS }, (_, index) => rowOf(index + 1))
    await storage.insert('named', rows)
    for (const [place, name] of NAMES.entries()) {
      const value = new Uint8Array([3, place])
      const expected = rows.filter(({ id }) => id % 7 === 3).map((row) => ({ ...row, version: 1 }))
      for (const filter of [
        { kind: 'in', column: name, values: [value, new Uint8Array([9])] },
        { kind: 'compare', column: name, operator: '=', value },
      ] as const) {
        for (const limit of [1, 16, 66, 1000]) {
          const found = await storage.find('named', filter, { order: 'asc', limit })
          expect(found, `${name} ${filter.kind} ${limit}`).toEqual(expected.slice(0, limit))
        }
      }
      const above = { kind: 'compare', column: name, operator: '>', value } as const
      const found = await storage.find('named', above, { order: 'desc', limit: 500 })
      expect(found.map(({ id }) => id)).toEqual(rows.flatMap(({ id }) => (id % 7 > 3 ? [id] : [])).reverse())
    }
    for (const ids of [[5], [5, 3, 601], rows.map(({ id }) => id)]) {
      expect(await storage.get('named', ids)).toEqual(ids.map((id) => (id > ROWS ? undefined : { ...rowOf(id), version: 1 })))
    }
  })
})
