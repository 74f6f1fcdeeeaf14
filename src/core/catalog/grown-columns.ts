/** Finds the columns that a changed schema adds to existing tables or gives new requirements, and checks the stored records for them. */
import type { Barrier } from '../barrier/barrier.ts'
import { digestPresent, hasKey } from '../barrier/digest-values.ts'
import { columnValues } from '../barrier/reveal.ts'
import { type Fault, fault, words } from '../errors.ts'
import { eachPage } from '../maintenance/each-page.ts'
import type { Storage } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import type { Column, Table } from '../schema/layout.ts'
import { keyOfBytes } from '../util/bytes.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'

/** A column that is new in an existing table, or that has new requirements. */
export interface GrownColumn {
  readonly table: Table
  readonly column: Column
  readonly isNew: boolean
  /** True for an existing column that stores a digest from now on. */
  readonly needsDigest: boolean
  /** True for an existing column that must have values from now on. */
  readonly isRequired: boolean
}

/** Returns the grown columns of a table. `before` is the stored table; undefined if the table is new. */
export function grownColumns(table: Table, before: Table | undefined): GrownColumn[] {
  if (before === undefined) return []
  return table.columns.flatMap((column): GrownColumn[] => {
    const was = before.byName.get(column.name)
    if (was === undefined) return [{ table, column, isNew: true, needsDigest: false, isRequired: false }]
    const needsDigest = column.digest !== undefined && was.digest === undefined
    const isRequired = column.required && !was.required
    return needsDigest || isRequired ? [{ table, column, isNew: false, needsDigest, isRequired }] : []
  })
}

/** Throws `failed_precondition` for a change that the stored records do not allow. Reads them a page at a time, and yields to the event loop between pages. */
export async function assertCanGrow(
  storage: Storage,
  barrier: Barrier,
  growth: GrownColumn & { readonly scheduler: Scheduler; readonly signal?: Signal | undefined },
): Promise<void> {
  const { table, column, isNew, needsDigest, isRequired, scheduler, signal } = growth
  if (isNew) return assertCanAdd(storage, growth)
  const isChecked = needsDigest && column.unique
  const isKeyed = needsDigest && column.normalize.length > 0
  if (!isRequired && !isChecked && !isKeyed) return
  const seen = new Set<string>()
  for await (const rows of eachPage(storage, table.physical.name, { scheduler })) {
    assertNotAborted(signal)
    const values = columnValues(barrier, table, column, rows)
    if (isRequired && values.includes(null)) throw withoutValue(growth)
    if (isKeyed && !values.every((value) => hasKey(column, value))) throw withoutKey(growth)
    if (isChecked) addDistinct(seen, digestPresent(barrier.ring, column, values), growth)
  }
}

async function assertCanAdd(storage: Storage, { table, column }: GrownColumn): Promise<void> {
  if (!column.required) return
  const first = await storage.find(table.physical.name, { kind: 'all' }, { order: 'asc', limit: 1, columns: [] })
  if (first.length === 0) return
  throw fault('failed_precondition', {
    table: table.name,
    column: column.name,
  })`Cannot open the vault: new column ${column.name} of table ${table.name} is required, but existing records have no value. Add it as optional, fill it, then require it.`
}

/** Adds the digests of a page. Throws if one was added before. */
function addDistinct(seen: Set<string>, digests: readonly (Uint8Array | undefined)[], growth: GrownColumn): void {
  for (const digest of digests) {
    if (digest === undefined) continue
    const key = keyOfBytes(digest)
    if (seen.has(key)) throw equalValues(growth)
    seen.add(key)
  }
}

function withoutValue({ table, column }: GrownColumn): Fault {
  return fault('failed_precondition', {
    table: table.name,
    column: column.name,
  })`Cannot open the vault: column ${column.name} of table ${table.name} cannot become required: records have no value. Give them one first.`
}

function withoutKey({ table, column }: GrownColumn): Fault {
  return fault('failed_precondition', {
    table: table.name,
    column: column.name,
  })`Cannot open the vault: column ${column.name} of table ${table.name} cannot become ${words(column.unique ? 'unique' : 'searchable')}: its normalizers leave nothing of texts that records hold. Change them first.`
}

/** Returns the error for a column that cannot become unique. */
export function equalValues({ table, column }: Pick<GrownColumn, 'table' | 'column'>): Fault {
  return fault('failed_precondition', {
    table: table.name,
    column: column.name,
  })`Cannot open the vault: column ${column.name} of table ${table.name} cannot become unique: records hold equal values. Change them first.`
}
