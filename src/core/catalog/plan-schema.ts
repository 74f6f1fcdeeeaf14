/** Says what opening a vault with another schema would change, and what would be refused, without changing it. */
import type { Barrier } from '../barrier/barrier.ts'
import { isVaultError, print } from '../errors.ts'
import { eachPage } from '../pace/pace.ts'
import type { Storage } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import {
  assignIds,
  type CatalogSchema,
  type ColumnChange,
  definitionOf,
  findIncompatible,
  findOutdatedTables,
} from '../schema/catalog-schema.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import { presentOnly } from '../schema/describe-schema.ts'
import { type Layout, layoutSchema } from '../schema/layout.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'
import { assertCanGrow, equalValues, type GrownColumn, grownColumns } from './grown-columns.ts'

/** One difference between the stored schema and another one. */
export interface PlannedChange {
  readonly table: string
  /** Absent for a whole table. */
  readonly column?: string
  /** `left out`: it stays stored, and processes with this schema do not see it. */
  readonly change: 'added' | 'changed' | 'left out'
  /** The changed option; present with `changed` only. `before` and `after` are its definitions, absent where it has none. */
  readonly option?: string
  readonly before?: unknown
  readonly after?: unknown
  /** Why the schema is refused, as a sentence. Absent if it is not, or if the records were not read. */
  readonly refused?: string
  /** Why processes with this schema could not write records of the table, as a sentence. Absent if they could. */
  readonly stopsWrites?: string
}

/** What a plan is made from. */
export interface SchemaToPlan {
  readonly barrier: Barrier
  readonly stored: CatalogSchema
  readonly definition: SchemaDefinition
  readonly scheduler: Scheduler
  readonly signal?: Signal | undefined
  /** True to read the records of columns with new requirements: only they say whether the change is refused. */
  readonly readsRecords: boolean
}

/** Returns the differences, in the order of the tables. Empty if the schemas are the same. Only reads. */
export async function planSchema(storage: Storage, plan: SchemaToPlan): Promise<readonly PlannedChange[]> {
  const { stored, definition, readsRecords } = plan
  const changes = findChanges(definition, stored)
  if (!readsRecords) return changes
  const refusals = await refusalsOfRecords(storage, plan, changes)
  return changes.map((change) => {
    const refused = needsRecords(change) ? refusals.get(nameOf(change)) : undefined
    return refused === undefined ? change : { ...change, refused }
  })
}

/** Options that stored records can refuse. */
const OF_RECORDS: ReadonlySet<string> = new Set(['required', 'unique', 'searchable'])

function needsRecords({ change, option = '', refused }: PlannedChange): boolean {
  return refused === undefined && (change === 'added' || OF_RECORDS.has(option))
}

function findChanges(definition: SchemaDefinition, stored: CatalogSchema): PlannedChange[] {
  const known = Object.entries(definition).flatMap(([table, columns]): PlannedChange[] => {
    const before = stored.tables[table]?.columns
    if (before === undefined) return [{ table, change: 'added' }]
    return Object.entries(columns).flatMap(([column, after]): PlannedChange[] => {
      const was = before[column]?.definition
      return was === undefined ? [{ table, column, change: 'added' }] : changedOptions({ table, column, before: was, after })
    })
  })
  return [...known, ...leftOut(definition, stored)]
}

function changedOptions(change: ColumnChange): PlannedChange[] {
  const { table, column, before, after } = change
  const reasons = new Map<string, string>(findIncompatible(change).map(({ option, reason }) => [option, print(reason)]))
  const options = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return options.flatMap((option): PlannedChange[] => {
    const [was, is]: unknown[] = [Reflect.get(before, option), Reflect.get(after, option)]
    const refused = reasons.get(option)
    if (refused === undefined && JSON.stringify(was) === JSON.stringify(is)) return []
    return [{ table, column, change: 'changed', option, ...presentOnly({ before: was, after: is, refused }) }]
  })
}

function leftOut(definition: SchemaDefinition, stored: CatalogSchema): PlannedChange[] {
  const all = definitionOf(stored)
  return Object.entries(all).flatMap(([table, columns]): PlannedChange[] => {
    const own = definition[table]
    if (own === undefined) return [{ table, change: 'left out' }]
    const missing = Object.keys(columns).filter((column) => own[column] === undefined)
    return missing.map((column) => {
      const { [column]: _, ...others } = columns
      const stopsWrites = findOutdatedTables({ [table]: others }, stored).get(table)?.message
      return { table, column, change: 'left out', ...presentOnly({ stopsWrites }) }
    })
  })
}

/** Returns why records refuse a change, by column. Columns whose options are refused already are taken as they were. */
async function refusalsOfRecords(
  storage: Storage,
  plan: SchemaToPlan,
  changes: readonly PlannedChange[],
): Promise<ReadonlyMap<string, string>> {
  const { stored, definition, barrier } = plan
  const isRefused = new Set(changes.filter(({ refused }) => refused !== undefined).map(nameOf))
  const possible = Object.fromEntries(
    Object.entries(definition).map(([table, columns]) => {
      const kept = Object.entries(columns).map(([column, after]) => {
        const was = stored.tables[table]?.columns[column]?.definition
        return [column, was !== undefined && isRefused.has(nameOf({ table, column })) ? was : after] as const
      })
      return [table, Object.fromEntries(kept)]
    }),
  )
  const before = layoutSchema(stored)
  const after = layoutSchema(assignIds(possible, stored))
  const refusals = new Map<string, string>()
  for (const check of checksOf(before, after)) {
    const name = nameOf({ table: check.table.name, column: check.column.name })
    try {
      if (check.isIndexed) await assertDistinct(storage, { ...plan, ...check })
      else await assertCanGrow(storage, barrier, { ...plan, ...check })
    } catch (error) {
      if (!isVaultError(error, 'failed_precondition')) throw error
      refusals.set(name, error.message.replace(/^Cannot open the vault: /, ''))
    }
  }
  return refusals
}

/** Returns the columns to check. The index of a plain column that becomes unique is made by the storage, which refuses equal values. */
function checksOf(before: Layout, after: Layout): (GrownColumn & { readonly isIndexed: boolean })[] {
  return [...after.tables.values()].flatMap((table) => {
    const was = before.tables.get(table.name)
    const grown = grownColumns(table, was).map((one) => ({ ...one, isIndexed: false }))
    const indexed = table.plain.filter(({ name, unique }) => unique && was?.byName.get(name)?.unique === false)
    return [
      ...grown,
      ...indexed.map((column) => ({
        table,
        column,
        isNew: false,
        needsDigest: false,
        isRequired: false,
        isIndexed: true,
      })),
    ]
  })
}

async function assertDistinct(storage: Storage, { table, column, scheduler, signal }: SchemaToPlan & GrownColumn): Promise<void> {
  const { plain = '' } = column
  const seen = new Set<unknown>()
  for await (const rows of eachPage(storage, table.physical.name, { columns: [plain], scheduler })) {
    assertNotAborted(signal)
    for (const row of rows) {
      const cell = row[plain]
      const key = cell instanceof Uint8Array ? cell.join() : cell
      if (key === null) continue
      if (seen.has(key)) throw equalValues({ table, column })
      seen.add(key)
    }
  }
}

function nameOf({ table, column = '' }: Pick<PlannedChange, 'table' | 'column'>): string {
  return `${table}.${column}`
}
