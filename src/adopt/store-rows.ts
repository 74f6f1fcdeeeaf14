/** Writes rows of the host into the vault, so that one that is refused stops no other. */
import { type ErrorCode, isVaultError, type VaultError } from '../core/errors.ts'
import { append } from '../core/util/lists.ts'
import { type AdoptedTable, type MappedColumn, uniqueKeys } from './adopted-table.ts'
import type { HostRow, Mapped } from './host-rows.ts'
import type { AdoptSession } from './job.ts'
import { toVault } from './values.ts'

/** A row that the vault refuses: names, and no value. */
export interface Refusal {
  readonly key: string
  readonly column: string | null
  readonly code: ErrorCode
}

export interface Stored {
  /** Rows that have a new record. */
  readonly added: Mapped[]
  readonly refused: Refusal[]
  /** Keys of rows whose record was deleted, to be replaced by a new one. */
  readonly replaced: string[]
}

/** A row as the vault takes it. */
interface Written extends HostRow {
  readonly fields: Readonly<Record<string, unknown>>
}

/** What the values of a row are refused for. Any other error is no fault of the row. */
const REFUSALS: readonly ErrorCode[] = [
  'not_found',
  'conflict',
  'invalid_request',
  'unprocessable',
  'out_of_range',
  'limit_exceeded',
  'tokens_exhausted',
]
/** Rows that are taken out one by one, before the rest is divided. */
const MAX_NAMED = 8

/**
 * Stores rows, those with a record over it and the others as new ones. Values that rows have exchanged conflict although the host is right: the
 * unique columns of all known rows, and one of each list of columns that are unique together, are emptied first, then set.
 */
export async function storeRows(session: AdoptSession, table: AdoptedTable, rows: readonly HostRow[]): Promise<Stored> {
  const stored: Stored = { added: [], refused: [], replaced: [] }
  const refuse = (row: HostRow, code: ErrorCode, column?: string): void => {
    stored.refused.push({ key: row.key, column: column ?? null, code })
  }
  const readable = rows.flatMap((row): Written[] => {
    const fields = fieldsOf(table, row, (column) => refuse(row, 'unprocessable', column.name))
    return fields === undefined ? [] : [{ ...row, fields }]
  })
  const update = async (some: readonly Written[]): Promise<void> => {
    await session.perform('update', {
      table: table.vaultTable,
      records: some.map(({ recordId, fields }) => ({ id: recordId ?? '', fields })),
    })
  }
  const insert = async (some: readonly Written[]): Promise<void> => {
    const records = some.map(({ fields }) => ({ fields: withoutNulls(fields) }))
    const inserted = await session.perform('insert', { table: table.vaultTable, records })
    for (const [index, { key }] of some.entries()) stored.added.push({ key, recordId: inserted.records[index]?.id ?? '' })
  }
  const again: Written[] = []
  /** The records do not exist any more: the rows get others. */
  const replace = (some: readonly Written[]): void => {
    for (const { key } of some) stored.replaced.push(key)
    append(again, some)
  }
  const free = async (some: readonly Written[]): Promise<readonly Written[]> => {
    const idsOf = (rows: readonly Written[]) => rows.map(({ recordId }) => recordId ?? '')
    const emptied = uniqueKeys(table).map((key) => key.find(({ isVaultRequired }) => !isVaultRequired))
    if (emptied.includes(undefined)) {
      await withoutMissing(some, (rows) => session.perform('delete', { table: table.vaultTable, ids: idsOf(rows) }))
      replace(some)
      return []
    }
    const empty = Object.fromEntries(emptied.flatMap((column) => (column === undefined ? [] : [[column.vault, null]])))
    const freed = await withoutMissing(some, (rows) =>
      session.perform('update', { table: table.vaultTable, records: idsOf(rows).map((id) => ({ id, fields: empty })) }),
    )
    const found = new Set(freed?.found)
    replace(some.filter((row) => !found.has(row)))
    return some.filter((row) => found.has(row))
  }
  const refused = (row: Written, error: VaultError): void => {
    if (error.code === 'not_found') replace([row])
    else refuse(row, error.code, hostColumn(table, error))
  }
  await writeAll({ rows: readable.filter(({ recordId }) => recordId !== null), write: update, refused, free })
  await writeAll({ rows: [...readable.filter(({ recordId }) => recordId === null), ...again], write: insert, refused })
  return stored
}

/** Rows to write, and what becomes of those that are refused. */
interface Writing {
  readonly rows: readonly Written[]
  write(rows: readonly Written[]): Promise<void>
  refused(row: Written, error: VaultError): void
  /** Called once, at the first conflict. Returns the rows that are left to write. */
  free?(rows: readonly Written[]): Promise<readonly Written[]>
}

/** Writes all rows at once, again without those that an error names, and in halves where it names none. */
async function writeAll(writing: Writing, tries = 0): Promise<void> {
  const { rows, write, refused, free } = writing
  if (rows.length === 0) return
  let error: VaultError
  try {
    return await write(rows)
  } catch (thrown) {
    if (!isVaultError(thrown) || !REFUSALS.includes(thrown.code)) throw thrown
    error = thrown
  }
  if (free !== undefined && error.code === 'conflict') return writeAll({ rows: await free(rows), write, refused }, tries)
  const named = new Set(rows.length === 1 ? [0] : error.details.flatMap(({ index }) => index ?? []))
  if (named.size === 0 || tries >= MAX_NAMED) {
    const middle = rows.length >> 1
    await writeAll({ ...writing, rows: rows.slice(0, middle) })
    return writeAll({ ...writing, rows: rows.slice(middle) })
  }
  for (const [index, row] of rows.entries()) if (named.has(index)) refused(row, error)
  return writeAll({ ...writing, rows: rows.filter((_, index) => !named.has(index)) }, tries + 1)
}

/** Runs a call on records by their ids, without those that do not exist any more. Returns the result, and undefined if none exists. */
export async function withoutMissing<T, Result>(
  items: readonly T[],
  call: (items: readonly T[]) => Promise<Result>,
): Promise<{ readonly found: readonly T[]; readonly result: Result } | undefined> {
  for (let found = items; found.length > 0; ) {
    try {
      return { found, result: await call(found) }
    } catch (error) {
      const missing = new Set(isVaultError(error, 'not_found') ? error.details.flatMap(({ index }) => index ?? []) : [])
      if (missing.size === 0) throw error
      found = found.filter((_, index) => !missing.has(index))
    }
  }
  return undefined
}

/** Returns the fields of a row; undefined if a cell cannot be read as the type of its column. */
function fieldsOf(
  { columns }: AdoptedTable,
  { cells }: HostRow,
  refuse: (column: MappedColumn) => void,
): Readonly<Record<string, unknown>> | undefined {
  const fields: Record<string, unknown> = {}
  for (const [position, column] of columns.entries()) {
    try {
      fields[column.vault] = toVault(column, cells[position] ?? null)
    } catch {
      refuse(column)
      return undefined
    }
  }
  return fields
}

function withoutNulls(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}

/** The host's name of the column that an error is about. */
function hostColumn({ columns }: AdoptedTable, { details }: VaultError): string | undefined {
  return columns.find(({ vault }) => vault === details[0]?.column)?.name
}
