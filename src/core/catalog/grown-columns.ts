/** Finds the columns that a changed schema adds to existing tables or gives new requirements, checks the stored records for them, and fills new digests. */
import type { Barrier } from '../barrier/barrier.ts'
import { digestPresent, hasKey } from '../barrier/digest-values.ts'
import { keptCells } from '../barrier/kept-times.ts'
import { assertVersions } from '../barrier/record-errors.ts'
import { columnValues } from '../barrier/reveal.ts'
import { type Fault, fault, isVaultError, VaultError, words } from '../errors.ts'
import { eachPage } from '../pace/pace.ts'
import type { Cell, Row, Storage } from '../ports/storage.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import type { Column, KeptTime, Table } from '../schema/layout.ts'
import { attempt, type Reason } from '../util/attempt.ts'
import { keyOfBytes } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'
import { nowMs } from '../util/time.ts'

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

/** A column whose digests are filled, inside the transaction that changes the catalog. */
export interface DigestsToFill extends Pick<GrownColumn, 'table' | 'column'> {
  readonly scheduler: Scheduler
  readonly signal?: Signal | undefined
  /** Called after each page with the number of records that got their digest. Its error ends the work. */
  readonly report?: ((records: number) => Promise<void>) | undefined
}

/** Maximum number of attempts to fill a page, if other processes keep changing its rows. */
const MAX_ATTEMPTS = 1000

/** Thrown to read rows again that changed between reading and writing. */
const CHANGED = new Error('rows changed between reading and writing them')

/** The cell of each of some rows: a digest, for example; undefined or null for a row without a value. */
type CellsOf = (rows: readonly Row[]) => readonly (Cell | undefined)[]

/** Stores the digest of every row. A row that changes meanwhile is read again. Throws `aborted` after 1,000 attempts, and `failed_precondition` if a unique digest repeats. */
export async function fillDigests(
  storage: Storage,
  barrier: Barrier,
  { table, column, scheduler, signal, report }: DigestsToFill,
): Promise<void> {
  const name = required(column.digest, 'The digest of a filled column')
  const fill = async (cellsOf: CellsOf, filled?: DigestsToFill['report']): Promise<void> => {
    for await (const rows of eachPage(storage, table.physical.name, { scheduler })) {
      assertNotAborted(signal)
      try {
        await patchPage(storage, barrier, { table, name, rows, cellsOf, scheduler })
      } catch (error) {
        throw isVaultError(error, 'conflict') ? equalValues({ table, column }) : error
      }
      await filled?.(rows.length)
    }
  }
  // Digests of an earlier attempt may be stale. They are cleared first, so that none of them conflicts with a fresh one.
  await fill((rows) => rows.map(() => undefined))
  await fill((rows) => digestPresent(barrier.ring, column, columnValues(barrier, table, column, rows)), report)
}

/** A rule of retention whose times existing records do not have. */
export interface NewlyKept {
  readonly table: Table
  readonly kept: KeptTime
}

/** Returns the rules of a table that are new, or that count from another column than before. `before` is the stored table; undefined if the table is new. */
export function newlyKept(table: Table, before: Table | undefined): NewlyKept[] {
  if (before === undefined) return []
  const known = new Map(before.kept.map(({ cell, from }) => [cell, from?.objectId ?? 0]))
  return table.kept.flatMap((kept) => (known.get(kept.cell) === (kept.from?.objectId ?? 0) ? [] : [{ table, kept }]))
}

/** Stores the time of every row from which the rule counts. By birth, that is now. */
export async function fillKept(
  storage: Storage,
  barrier: Barrier,
  { table, kept, clock, scheduler, signal }: NewlyKept & Pick<DigestsToFill, 'scheduler' | 'signal'> & { readonly clock: Clock },
): Promise<void> {
  const now = nowMs({ clock })
  const cellsOf: CellsOf = (rows) => keptCells(barrier, table, { kept, rows, nowMs: now })
  for await (const rows of eachPage(storage, table.physical.name, { scheduler })) {
    assertNotAborted(signal)
    await patchPage(storage, barrier, { table, name: kept.cell, rows, cellsOf, scheduler })
  }
}

/** A page of rows, the column of the cells, and how they are computed. */
interface PageToFill {
  readonly table: Table
  readonly name: string
  readonly rows: readonly Row[]
  readonly cellsOf: CellsOf
  readonly scheduler: Scheduler
}

/** Patches the rows of one page. Reads a row again if it changed between reading and writing. */
async function patchPage(
  storage: Storage,
  barrier: Barrier,
  { table, name, rows, cellsOf, scheduler }: PageToFill,
): Promise<void> {
  let pending = rows
  const changing: Reason = {
    is: (error) => error === CHANGED,
    most: MAX_ATTEMPTS,
    between: () => scheduler.yield(),
    lastWord: () => new VaultError('aborted', 'Cannot open the vault: other processes keep changing its records. Retry.'),
  }
  await attempt([changing], async () => {
    assertVersions(barrier, table, pending)
    const cells = cellsOf(pending)
    const patches = pending.map(({ id, version }, index) => ({ id, version, set: { [name]: cells[index] ?? null } }))
    const isPatched = await storage.update(table.physical.name, patches)
    const changed = pending.flatMap(({ id }, index) => (isPatched[index] === true ? [] : [id]))
    const again = await storage.get(table.physical.name, changed)
    pending = again.filter((row) => row !== undefined)
    if (pending.length > 0) throw CHANGED
  })
}
