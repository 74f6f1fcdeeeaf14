/** What is sealed where: the only list of it. A pass that seals again, a count of bodies by key, and a proof that a key may go read it. */
import type { CatalogState } from '../catalog/catalog-entries.ts'
import type { Filter, Row, Storage } from '../ports/storage.ts'
import { BODY, layoutSchema } from '../schema/layout.ts'
import {
  AUDIT_CHAINS,
  AUDIT_EVENTS,
  CATALOG,
  CREDENTIALS,
  FILES,
  FORGOTTEN,
  INDEX_BLOCKS,
  INDEX_RUNS,
  MAINTENANCE,
  MARKER,
  OPENINGS,
  SUBJECT_KEYS,
  TRANSIENTS,
} from '../schema/system-tables.ts'
import { type Bodies, bodiesOf } from '../sealing/envelope.ts'

const ALL: Filter = { kind: 'all' }

/** A column of sealed bodies. */
export interface SealedPlace {
  /** The name of the table in the schema, or `system.` and that of a table that every vault has. */
  readonly name: string
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
  const records = [...layoutSchema(schema).tables.values()].map(({ name, physical, objectId }) =>
    place(physical.name, bodiesOf('record', objectId), name),
  )
  return [
    ...records,
    {
      name: systemName(TRANSIENTS.name),
      table: TRANSIENTS.name,
      column: BODY,
      filter: ALL,
      reads: ['object_id'],
      bodiesOf: ({ object_id: id }) => bodiesOf('record', Number(id)),
    },
    place(SUBJECT_KEYS.name, bodiesOf('subject')),
    place(INDEX_RUNS.name, bodiesOf('run')),
    place(INDEX_BLOCKS.name, bodiesOf('block')),
    place(FILES.name, bodiesOf('file')),
    place(CREDENTIALS.name, bodiesOf('credential')),
    place(MARKER.name, bodiesOf('marker')),
    place(MAINTENANCE.name, bodiesOf('maintenance')),
    place(FORGOTTEN.name, bodiesOf('forgotten')),
    {
      name: systemName(CATALOG.name),
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

/** Returns the places, whose tables can be read then: some may be of a schema that only other processes know. */
export async function preparedPlaces(
  storage: Pick<Storage, 'prepare'>,
  state: Pick<CatalogState, 'schema'>,
): Promise<readonly SealedPlace[]> {
  await storage.prepare([...layoutSchema(state.schema).tables.values()].map(({ physical }) => physical))
  return sealedPlaces(state)
}

function systemName(table: string): string {
  return `system.${table}`
}

function place(table: string, bodies: Bodies, name = systemName(table)): SealedPlace {
  return { name, table, column: BODY, filter: ALL, reads: [], bodiesOf: () => bodies }
}
