/** What tokens stand for, as far as one caller may know: a token he may not resolve stands for nothing. */
import { VaultError } from '../errors.ts'
import type { Access } from '../policy/create-access.ts'
import type { Need, RowAccess, TableAccess } from '../policy/table-access.ts'
import type { Row } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { findReached } from '../row-access/find-visible-by-digest.ts'
import { judgeRows } from '../row-access/evaluate-access.ts'
import type { StoreContext } from './writing-context.ts'
import type { Reach, Resolution, Resolved } from './resolve-tokens.ts'
import { resolveTokens } from './resolve-tokens.ts'

/** What became of one token for this caller. */
export type Granted = (Resolved & { readonly access: RowAccess }) | VaultError | undefined

/** What may be done with tokens: what each must be granted on its column, in the row it stands in. */
export type NeedsOf = (column: Column) => readonly Need[]

/** What resolving for a caller takes. */
type GrantContext = Pick<StoreContext, 'unit' | 'barrier' | 'layout' | 'clock'> & { readonly access: Access }

/** What each text stands for among the cells he may resolve. A cell beyond his reach is not there, even where it holds the same value as one within. */
export async function resolveGranted(context: GrantContext, texts: readonly string[], needsOf: NeedsOf): Promise<Granted[]> {
  const grants = new Map<Resolved, RowAccess>()
  const reach: Reach = {
    findRows: (table, column, digests) =>
      findReached(context, { access: context.access.table(table), column, needs: needsOf(column) }, digests),
    within: (found) => keepGranted(context, found, { grants, needsOf }),
  }
  const found = await resolveTokens(context, texts, reach)
  return found.map((one) => {
    if (one === undefined || one instanceof VaultError) return one
    const access = grants.get(one)
    return access === undefined ? undefined : { ...one, access }
  })
}

/** The resolutions that meet his needs; what he may do with each is noted. */
function keepGranted(
  context: GrantContext,
  found: readonly Resolution[],
  { grants, needsOf }: { readonly grants: Map<Resolved, RowAccess>; readonly needsOf: NeedsOf },
): Resolution[] {
  const accessOf = (table: Table): TableAccess => context.access.table(table)
  const byRow = new Map<Row, RowAccess>()
  for (const [table, rows] of recordsByTable(found)) {
    for (const [index, access] of judgeRows(context, accessOf(table), rows).entries()) {
      const row = rows[index]
      if (row !== undefined) byRow.set(row, access)
    }
  }
  return found.map((one) => {
    if (one === undefined) return undefined
    if (one instanceof VaultError) return mayHearOf(context, one) ? one : undefined
    const access = one.row === undefined ? withoutRecord(accessOf(one.table)) : byRow.get(one.row)
    if (access === undefined || !needsOf(one.column).every((need) => access.meets(need))) return undefined
    grants.set(one, access)
    return one
  })
}

/** A value that lives apart from any record: no condition on a record can be known of it, so only unconditional grants reach it. */
function withoutRecord(access: TableAccess): RowAccess {
  return access.forRow(access.conditions.map(() => undefined))
}

/** The row ids of what was resolved, by table. */
export function rowsByTable(found: readonly Granted[]): Map<Table, number[]> {
  const resolved = found.map((one) => (one instanceof VaultError ? undefined : one))
  return new Map([...recordsByTable(resolved)].map(([table, rows]) => [table, rows.map(({ id }) => id)]))
}

function recordsByTable(found: readonly Resolution[]): Map<Table, Row[]> {
  const tables = new Map<Table, Row[]>()
  for (const one of found) {
    if (one === undefined || one instanceof VaultError || one.row === undefined) continue
    const rows = tables.get(one.table)
    if (rows === undefined) tables.set(one.table, [one.row])
    else rows.push(one.row)
  }
  return tables
}

/** That a record cannot be authenticated is for those who could resolve its tokens. */
function mayHearOf({ layout, access }: Pick<StoreContext, 'layout'> & { readonly access: Access }, error: VaultError): boolean {
  const table = error.details[0]?.table === undefined ? undefined : layout.tables.get(error.details[0].table)
  return table === undefined || access.table(table).couldMeet({ action: 'DETOKENIZATION', columns: [] })
}
