/** What is sealed where: the only list of it. A pass that seals again, a count of bodies by key, and a proof that a key may go read it. */
import type { CatalogState } from '../catalog/catalog-entries.ts'
import type { Filter, Row } from '../ports/storage.ts'
import { BODY, layoutSchema } from '../schema/layout.ts'
import {
  AUDIT_CHAINS,
  AUDIT_EVENTS,
  CATALOG,
  CREDENTIALS,
  FILES,
  MAINTENANCE,
  MARKER,
  OPENINGS,
  TRANSIENTS,
} from '../schema/system-tables.ts'
import { type Bodies, bodiesOf } from '../sealing/envelope.ts'

const ALL: Filter = { kind: 'all' }

/** A column of sealed bodies. */
export interface SealedPlace {
  readonly table: string
  readonly column: string
  /** The rows whose cell is sealed. */
  readonly filter: Filter
  /** The columns by which `bodiesOf` knows what a row holds. */
  readonly reads: readonly string[]
  /** Returns how the body of a row is sealed. */
  bodiesOf(row: Row): Bodies
}

/** Returns the places of a vault, in the order in which they are sealed again: the trail last, because that itself is recorded. */
export function sealedPlaces({ schema }: Pick<CatalogState, 'schema'>): readonly SealedPlace[] {
  const records = [...layoutSchema(schema).tables.values()].map(({ physical, objectId }) =>
    place(physical.name, bodiesOf('record', objectId)),
  )
  return [
    ...records,
    {
      table: TRANSIENTS.name,
      column: BODY,
      filter: ALL,
      reads: ['object_id'],
      bodiesOf: ({ object_id: id }) => bodiesOf('record', Number(id)),
    },
    place(FILES.name, bodiesOf('file')),
    place(CREDENTIALS.name, bodiesOf('credential')),
    place(OPENINGS.name, bodiesOf('opening')),
    place(MAINTENANCE.name, bodiesOf('maintenance')),
    place(MARKER.name, bodiesOf('marker')),
    place(MAINTENANCE.name, bodiesOf('maintenance')),
    {
      table: CATALOG.name,
      column: 'content',
      filter: { kind: 'in', column: 'entry', values: ['schema', 'ring'] },
      reads: ['entry'],
      bodiesOf: ({ entry }) => bodiesOf(entry === 'ring' ? 'ring' : 'schema'),
    },
    place(OPENINGS.name, bodiesOf('opening')),
    place(AUDIT_CHAINS.name, bodiesOf('head')),
    place(AUDIT_EVENTS.name, bodiesOf('event')),
  ]
}

function place(table: string, bodies: Bodies): SealedPlace {
  return { table, column: BODY, filter: ALL, reads: [], bodiesOf: () => bodies }
}
