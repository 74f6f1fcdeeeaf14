/** Verifies stored records: that each opens, and agrees with its digests, its stored tokens, its transient values and its sealed indexes. */
import { isForgotten, UNKNOWN_KEY } from '../barrier/barrier.ts'
import { bodyOf } from '../barrier/reveal.ts'
import { isVaultError } from '../errors.ts'
import type { Job } from '../maintenance/job.ts'
import { countRows, createPageSize, eachPossiblePage, findImpossibleRows, isRowId } from '../pace/pace.ts'
import type { Row } from '../ports/storage.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { TOKENS, TRANSIENTS } from '../schema/system-tables.ts'
import { groupBy, required } from '../util/lists.ts'
import { assertNotAborted } from '../util/signal.ts'
import { checkDuplicates, type UnindexedValues } from './check-duplicates.ts'
import { checkIndexes } from './check-indexes.ts'
import { checkFiles, openPage, refreshSchema, tableNow, type Verifying } from './check-records.ts'
import { checkStoredTokens } from './check-stored-tokens.ts'
import { RecordFindings, type RecordVerificationResult, type Suspicion } from './record-findings.ts'

/** Rows of the first slice of a table: each can be large, and all its values are opened. */
const FIRST_ROWS = 4
/** Number of times that a row is checked if others change it meanwhile. */
const MAX_CHECKS = 10

/** A table, also after it was erased. */
type StoredTable = Pick<Table, 'objectId' | 'physical'>

/**
 * Verifies the records of these tables, slice by slice. Holds no transaction: what seems wrong is read again, and counts only if
 * the row did not change meanwhile. A record that changes during each of 10 checks is not reported. Throws `cancelled`.
 */
export async function verifyRecords(
  context: Verifying,
  tables: readonly StoredTable[],
  job: Job,
): Promise<RecordVerificationResult> {
  const findings = new RecordFindings(context.barrier.ring)
  const stored = tables.map(({ physical }) => ({ table: physical.name }))
  job.expect(await unlessErased(context, tables, () => countRows(context.storage, stored)))
  const counts = { recordCount: 0, forgottenCount: 0 }
  for (const table of tables) await unlessErased(context, [table], () => verifyTable(context, table, { findings, job, counts }))
  await verifyTokenRows(context, { tables: tables.flatMap(({ objectId }) => tableNow(context, objectId) ?? []), findings, job })
  return findings.result(counts)
}

/** Runs reads of tables; undefined if one of the tables was erased meanwhile, and reading it failed. An abort, and an error of the caller's own, are thrown. */
async function unlessErased<T>(
  context: Verifying,
  tables: readonly StoredTable[],
  reads: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await reads()
  } catch (error) {
    if (!isVaultError(error, 'internal')) throw error
    await refreshSchema(context)
    if (tables.every(({ objectId }) => tableNow(context, objectId) !== undefined)) throw error
    return undefined
  }
}

/** What the verification of a table adds to. */
interface Results {
  readonly findings: RecordFindings
  readonly job: Job
  readonly counts: { recordCount: number; forgottenCount: number }
}

async function verifyTable(
  context: Verifying,
  { objectId, physical }: StoredTable,
  { findings, job, counts }: Results,
): Promise<void> {
  const { storage, scheduler } = context
  await refreshSchema(context)
  const first = tableNow(context, objectId)
  if (first === undefined) return
  const unindexed: UnindexedValues = new Map()
  const { lowest, highest } = await findImpossibleRows(storage, physical.name)
  if ((lowest ?? highest) !== undefined) findings.add(first, { kind: 'impossible_id' }, undefined)
  for await (const rows of eachPossiblePage(storage, physical.name, {
    size: createPageSize({ first: FIRST_ROWS }),
    scheduler,
  })) {
    assertNotAborted(job.signal)
    for (const found of await checkSlice(context, { objectId, rows, unindexed }))
      findings.add(tableNow(context, objectId) ?? first, found, found.row.id)
    counts.recordCount += rows.length
    counts.forgottenCount += rows.filter((row) => isForgotten(context.barrier, bodyOf(row))).length
    await job.advance({ rows: rows.length, table: tableNow(context, objectId)?.name })
  }
  await checkIndexes(context, objectId, { findings, job })
}

/** Rows of one table to check. */
interface Slice {
  readonly objectId: number
  readonly rows: readonly Row[]
  readonly unindexed: UnindexedValues
}

/**
 * Returns what is wrong with some rows. Other tables are read after the rows, and suspicious rows once more after those. A row that
 * still has its version had it throughout, because a record and what belongs to it change in one transaction. Another one is checked again.
 */
async function checkSlice(context: Verifying, { objectId, rows, unindexed }: Slice): Promise<readonly Suspicion[]> {
  const confirmed: Suspicion[] = []
  let pending = rows
  for (let checks = 0; checks < MAX_CHECKS && pending.length > 0; checks++) {
    const suspicions = await suspect(context, { objectId, rows: pending, unindexed })
    const suspects = [...new Set(suspicions.map(({ row }) => row))]
    const table = tableNow(context, objectId)
    if (table === undefined) return []
    const again = await storedAgain(context, table.physical.name, suspects)
    for (const one of suspicions) if (isUnchanged(one.row, again.get(one.row.id))) confirmed.push(one)
    pending = suspects.flatMap((suspect) => {
      const row = again.get(suspect.id)
      return row === undefined || isUnchanged(row, suspect) ? [] : [row]
    })
  }
  return confirmed
}

/** True if a row that was read again has the same version. One that was changed in the database to text is not a number, and is the same again. */
function isUnchanged(row: Row, again: Row | undefined): boolean {
  return again !== undefined && Object.is(again.version, row.version)
}

/** Returns what seems wrong. Reads the catalog again if another process changed it: bodies can be of a key that it made, digests too, and columns of another schema. */
async function suspect(context: Verifying, slice: Slice): Promise<readonly Suspicion[]> {
  const { catalog, storage } = context
  const { generation } = catalog.keys
  try {
    const suspicions = await suspectNow(context, slice)
    if (suspicions.length === 0 || (await catalog.isCurrent(storage, generation))) return suspicions
  } catch (error) {
    if (error !== UNKNOWN_KEY) throw error
  }
  await catalog.reload(storage)
  const { entropy, vault, ring, subjectKeys } = context.barrier
  return suspectNow({ ...context, barrier: { entropy, vault, ring, subjectKeys } }, slice)
}

async function suspectNow(context: Verifying, { objectId, rows, unindexed }: Slice): Promise<readonly Suspicion[]> {
  const { storage, barrier } = context
  const { layout } = context.live
  const table = tableNow(context, objectId)
  if (table === undefined) return []
  const page = openPage(barrier, table, rows)
  return [
    ...page.suspicions,
    ...(await checkStoredTokens(storage, { ...context, layout }, page)),
    ...(await checkFiles(storage, barrier, page)),
    ...(await checkDuplicates(storage, barrier, { page, unindexed })),
  ]
}

/** Returns the rows that still exist, by id. */
async function storedAgain({ storage }: Verifying, table: string, rows: readonly Row[]): Promise<Map<number, Row>> {
  if (rows.length === 0) return new Map()
  const ids = rows.map(({ id }) => id)
  const again = await storage.get(table, ids)
  return new Map(again.flatMap((row) => (row === undefined ? [] : [[row.id, row]])))
}

/** The tables whose stored tokens are verified. */
interface TokenWalk {
  readonly tables: readonly Table[]
  readonly findings: RecordFindings
  readonly job: Job
}

/** A stored token, and the column that it names. */
interface TokenRow {
  readonly row: Row
  readonly table: Table
  readonly column: Column
}

/** Finds stored tokens whose record or transient value does not exist. Those of existing records are compared with their cells. */
async function verifyTokenRows(context: Verifying, { tables, findings, job }: TokenWalk): Promise<void> {
  const columns = new Map(
    tables.flatMap((table) => table.tokenized.map((column) => [column.objectId, { table, column }] as const)),
  )
  if (columns.size === 0) return
  const { lowest, highest } = await findImpossibleRows(context.storage, TOKENS.name, ['object_id'])
  for (const row of [lowest, highest]) {
    const place = columns.get(Number(row?.object_id))
    if (place !== undefined) findings.add(place.table, { kind: 'unexpected_token', column: place.column }, undefined)
  }
  const filter = { kind: 'in', column: 'object_id', values: [...columns.keys()] } as const
  for await (const rows of eachPossiblePage(context.storage, TOKENS.name, { filter, scheduler: context.scheduler })) {
    assertNotAborted(job.signal)
    const tokens = rows.map((row) => ({ row, ...required(columns.get(Number(row.object_id))) }))
    const orphans = await findOrphans(context, tokens)
    const again = await storedAgain(
      context,
      TOKENS.name,
      orphans.map(({ row }) => row),
    )
    for (const { row, table, column } of orphans) {
      if (!isUnchanged(row, again.get(row.id))) continue
      const isOfRecord = column.token?.expires !== true && isRowId(row.row_id)
      findings.add(table, { kind: 'unexpected_token', column }, isOfRecord ? Number(row.row_id) : undefined)
    }
    await job.advance({ rows: rows.length, done: 0 })
  }
}

/** Returns the tokens whose row does not exist, or cannot exist. */
async function findOrphans(context: Verifying, tokens: readonly TokenRow[]): Promise<TokenRow[]> {
  const orphans = tokens.filter((token) => !isRowId(token.row.row_id))
  const nameOf = ({ row, column, table }: TokenRow): string | undefined => {
    if (!isRowId(row.row_id)) return undefined
    return column.token?.expires === true ? TRANSIENTS.name : table.physical.name
  }
  for (const [name, group] of groupBy(tokens, nameOf)) {
    const ids = group.map(({ row }) => Number(row.row_id))
    const owners = group.map(({ table }) => table)
    const rows = await unlessErased(context, owners, () => context.storage.get(name, ids))
    if (rows === undefined) continue
    for (const [index, token] of group.entries()) if (rows[index] === undefined) orphans.push(token)
  }
  return orphans
}
