/** Resolves tokens for one caller. A token that the caller cannot resolve gives the same result as an unknown one. */
import { VaultError } from '../errors.ts'
import type { Access } from '../policy/create-access.ts'
import type { Action } from '../policy/statement.ts'
import type { RequiredGrant, RowAccess } from '../policy/table-access.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import { evaluateAccess, type ReadingContext } from '../row-access/evaluate-access.ts'
import { findVisibleByDigest } from '../row-access/find-visible.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { groupBy, present } from '../util/lists.ts'
import { type Resolution, resolveTokens } from './resolve-tokens.ts'
import type { Resolved } from './verify-candidates.ts'

/** The value of a token, and the caller's access to its record. A class, as candidates are. */
export class VisibleToken implements Resolved {
  readonly table: Table
  readonly column: Column
  readonly value: unknown
  readonly row: Row | undefined
  readonly access: RowAccess

  constructor({ table, column, value, row }: Resolved, access: RowAccess) {
    this.table = table
    this.column = column
    this.value = value
    this.row = row
    this.access = access
  }
}

/** The result for one token and one caller. */
export type VisibleResolution = Resolution<VisibleToken>

/** A grant that resolving a token requires: on the token's own column, or on any column of its record. */
export interface TokenGrant {
  readonly action: Action
  readonly on: 'column' | 'record'
}

/** Returns the grants that the caller needs for a token of a column. */
export type NeedsOf = (column: Column) => readonly RequiredGrant[]

/** Returns what these grants mean for each column, made once for a column. */
export function needsOfTokens(grants: readonly TokenGrant[]): NeedsOf {
  const needs = new WeakMap<Column, readonly RequiredGrant[]>()
  return (column) => {
    const known = needs.get(column)
    if (known !== undefined) return known
    const made = grants.map(({ action, on }) => ({ action, columns: on === 'column' ? [column] : [] }))
    needs.set(column, made)
    return made
  }
}

/** Tokens to resolve, and the grants that the caller needs for each. */
export interface TokensToResolve {
  readonly texts: readonly string[]
  readonly needsOf: NeedsOf
}

/** The dependencies of resolving tokens for a caller. */
type Resolving = ReadingContext & { readonly access: Access }

/** Returns the resolution of each text, in order, among the cells that the caller can resolve. Other cells have no effect, even with the same value. */
export function resolveVisible(
  storage: StorageReads,
  context: Resolving,
  { texts, needsOf }: TokensToResolve,
): Promise<VisibleResolution[]> {
  const visibility = {
    findRows: (table: Table, column: Column, digests: readonly Uint8Array[]) =>
      findVisibleByDigest(storage, context, {
        access: context.access.table(table),
        column,
        needs: needsOf(column.origin ?? column),
        digests,
      }),
    keepVisible: (found: readonly Resolution[]) => keepVisible(context, found, needsOf),
  }
  return resolveTokens(storage, context, { texts, visibility })
}

function keepVisible(context: Resolving, found: readonly Resolution[], needsOf: NeedsOf): VisibleResolution[] {
  const accessOf = rowAccessOf(context, found)
  // Neighbors are mostly of one column, and their rows have one access: what it grants is asked once for all of them.
  let of: Column | undefined
  let by: RowAccess | undefined
  let isGranted = false
  return found.map((one) => {
    if (one === undefined) return undefined
    if (one instanceof VaultError) return isErrorVisible(context, one) ? one : undefined
    const access = accessOf(one)
    const { column } = one
    if (column !== of || access !== by) {
      of = column
      by = access
      isGranted = needsOf(column).every((need) => access.meets(need))
    }
    return isGranted ? new VisibleToken(one, access) : undefined
  })
}

/** Returns a function for the caller's access to each resolved cell. Access is evaluated one table at a time. */
function rowAccessOf(context: Resolving, found: readonly Resolution[]): (resolved: Resolved) => RowAccess {
  const conditional = conditionalCells(context, found)
  if (conditional.length === 0) return accessOfTables(context)
  const byRow = new Map<Row, RowAccess>()
  for (const [table, cells] of groupBy(conditional, (cell) => cell.table)) {
    const rows = present(cells.map(({ row }) => row))
    for (const one of evaluateAccess(context.barrier, context.access.table(table), rows)) byRow.set(one.row, one.access)
  }
  return ({ table, row }) => {
    const known = row === undefined ? undefined : byRow.get(row)
    return known ?? context.access.table(table).withoutRecord()
  }
}

/** Returns a function for the caller's access where no condition decides. The last answer is kept, because neighbors are mostly of one table. */
function accessOfTables({ access }: Resolving): (resolved: Resolved) => RowAccess {
  let of: Table | undefined
  let known: RowAccess | undefined
  return ({ table }) => {
    if (table !== of || known === undefined) {
      of = table
      known = access.table(table).withoutRecord()
    }
    return known
  }
}

/** Returns the cells of tables in which conditions decide. Neighbors are mostly of one table. */
function conditionalCells({ access }: Resolving, found: readonly Resolution[]): Resolved[] {
  const cells: Resolved[] = []
  let of: Table | undefined
  let isConditional = false
  for (const one of found) {
    if (one === undefined || one instanceof VaultError) continue
    const { table } = one
    if (table !== of) isConditional = access.table(table).conditions.length > 0
    of = table
    if (isConditional) cells.push(one)
  }
  return cells
}

/** Receives the rows of resolved tokens: the event of an operation. */
interface ResolvedRows {
  addRows(table: Table, rows: readonly number[]): void
}

/** Adds the rows of the resolved tokens to an event, those of neighbors of one table at once. */
export function addRowsOf(found: readonly VisibleResolution[], event: ResolvedRows): void {
  let of: Table | undefined
  let rows: number[] = []
  for (const one of found) {
    if (one === undefined || one instanceof VaultError || one.row === undefined) continue
    const { table, row } = one
    if (table === of) {
      rows.push(row.id)
      continue
    }
    if (of !== undefined) event.addRows(of, rows)
    of = table
    rows = [row.id]
  }
  if (of !== undefined) event.addRows(of, rows)
}

/** True if the caller may learn that a record failed authentication: if they could resolve tokens of its table. */
function isErrorVisible({ layout, access }: Pick<Resolving, 'layout' | 'access'>, error: VaultError): boolean {
  const name = error.details[0]?.table
  const table = name === undefined ? undefined : layout.tables.get(name)
  return table === undefined || access.table(table).possiblyMeets({ action: 'DETOKENIZATION', columns: [] })
}
