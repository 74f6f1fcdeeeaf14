/** What tokens stand for, as far as one caller may know: a token he may not resolve stands for nothing. */
import { VaultError } from '../errors.ts'
import type { Access } from '../policy/create-access.ts'
import type { RowAccess, TableAccess } from '../policy/table-access.ts'
import type { Row } from '../ports/storage.ts'
import type { Table } from '../schema/layout.ts'
import { judgeRows } from './judge-rows.ts'
import type { StoreContext } from './store-context.ts'
import type { Resolution, Resolved } from './token-leads.ts'

/** What became of one token for this caller. */
export type Granted = (Resolved & { readonly access: RowAccess }) | VaultError | undefined

/** The same resolutions with what he may do with each; those without DETOKENIZATION on their column are gone. */
export function grantedTokens(
  context: Pick<StoreContext, 'barrier' | 'layout'> & { readonly access: Access },
  found: readonly Resolution[],
): Granted[] {
  const accessOf = (table: Table): TableAccess => context.access.table(table)
  const grants = new Map<Row, RowAccess>()
  for (const [table, rows] of recordsByTable(found)) {
    for (const [index, access] of judgeRows(context, accessOf(table), rows).entries()) {
      const row = rows[index]
      if (row !== undefined) grants.set(row, access)
    }
  }
  return found.map((one) => {
    if (one === undefined) return undefined
    if (one instanceof VaultError) return mayHearOf(context, one) ? one : undefined
    const access = one.row === undefined ? withoutRecord(accessOf(one.table)) : grants.get(one.row)
    return access?.may('DETOKENIZATION', one.column) === true ? { ...one, access } : undefined
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
  const table = error.facts.table === undefined ? undefined : layout.tables.get(error.facts.table)
  return table === undefined || access.table(table).couldMeet({ action: 'DETOKENIZATION', columns: [] })
}
