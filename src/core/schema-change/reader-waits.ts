/** Where a change of the schema waits: readers that go by an older schema do not compare it with the stored one for so long, and what they read ends only after that. */
import type { CatalogSchema } from '../schema/catalog-schema.ts'
import { indexOfCell } from '../schema/column-layout.ts'
import { layoutSchema } from '../schema/layout.ts'
import { required } from '../util/lists.ts'
import type { NextSchema } from './next-schema.ts'
import { pendingGone } from './plan-rewriting.ts'
import type { SchemaMoves } from './schema-moves.ts'
import { unneededBy } from './successions.ts'

/** What the change waits for. */
export const OLDER_READERS = 'readers that go by the older schema'

/** True if writers no longer store, or store anew, what readers look up until they know of it. */
export function endsLookUps({ successions, tables }: Pick<NextSchema, 'successions' | 'tables'>): boolean {
  return successions.length > 0 || tables.some(({ ends }) => ends.length > 0)
}

/** True if the moves erase what readers still see until they know of it. */
export function erasesSeen({ drop = {}, finish = [] }: SchemaMoves): boolean {
  return finish.length > 0 || Object.values(drop).includes('erase')
}

/** Returns the tables that still have what is to be erased and dropped, which readers can list or look up by. */
export function endingTables(schema: CatalogSchema) {
  const marked = Object.entries(schema.tables).filter(
    ([, stored]) => pendingGone(stored).length > 0 || (stored.leftover ?? stored.unneeded) !== undefined,
  )
  // Each opening asks for its plan, and few schemas have any.
  if (marked.length === 0) return []
  const { tables } = layoutSchema(schema)
  return marked.flatMap(([name, stored]) => {
    const table = required(tables.get(name))
    const gone = pendingGone(stored)
    const cells = [
      ...(stored.leftover ?? []).map((cell) => ({
        name: cell,
        type: indexOfCell(cell) === undefined ? ('bytes' as const) : ('integer' as const),
      })),
      ...gone.flatMap((one) => one.cells ?? []),
    ]
    const unneeded = unneededBy(table.physical.indexes, stored.unneeded)
    return gone.length + cells.length + unneeded.length === 0 ? [] : [{ table, gone, cells, unneeded }]
  })
}
