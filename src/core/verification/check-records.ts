/** Checks rows by themselves: whether they open, and whether their digests agree with the opened values. */

import type { Barrier } from '../barrier/barrier.ts'
import { digestPresent } from '../barrier/digest-values.ts'
import { hasImpossibleVersion } from '../barrier/record-errors.ts'
import { type OpenRows, openRows } from '../barrier/reveal.ts'
import { createTokenMetadata, slotOf, type TokenMetadata } from '../barrier/token-metadata.ts'
import { isVaultError } from '../errors.ts'
import type { Cell, Row } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { sameBytes } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import type { RecordFindingKind, Suspicion } from './record-findings.ts'

/** Some rows of a table, opened. */
export interface OpenedPage {
  readonly table: Table
  readonly rows: readonly Row[]
  /** The values of each row by position; undefined for a row that does not open, and in place of a value that cannot be read. */
  readonly values: readonly (readonly unknown[] | undefined)[]
  readonly metadata: TokenMetadata
  /** The digests of each digested column as its values have them, in the order of the rows; undefined where there is no value. */
  readonly digests: ReadonlyMap<Column, readonly (Uint8Array | undefined)[]>
  /** What is wrong with the rows themselves. */
  readonly suspicions: readonly Suspicion[]
}

/** Opens rows, and compares their digests. A row that does not open is a suspicion, not an error. */
export function openPage(barrier: Barrier, table: Table, rows: readonly Row[]): OpenedPage {
  const suspicions: Suspicion[] = []
  const metadata = createTokenMetadata(table, rows.length)
  const cursor = openRows(barrier, table, rows)
  const values = rows.map((row, index) => {
    if (hasImpossibleVersion(row)) suspicions.push({ kind: 'impossible_version', row })
    if (!isOpened(cursor, index)) {
      suspicions.push({ kind: 'unreadable_record', row })
      return undefined
    }
    for (const column of table.tokenized) cursor.readMetadata(column, metadata, slotOf(metadata, index, column))
    return table.columns.map((column) =>
      readValue(cursor, column, () => suspicions.push({ kind: 'unreadable_value', row, column })),
    )
  })
  const digests = new Map<Column, readonly (Uint8Array | undefined)[]>()
  for (const column of table.digested) {
    const held = values.map((record) => record?.[column.position] ?? null)
    const computed = digestPresent(barrier.ring, column, held)
    digests.set(column, computed)
    for (const [index, row] of rows.entries()) {
      if (values[index]?.[column.position] === undefined) continue
      const kind = compareDigest(row[required(column.digest)] ?? null, computed[index])
      if (kind !== undefined) suspicions.push({ kind, row, column })
    }
  }
  return { table, rows, values, metadata, digests, suspicions }
}

function isOpened(cursor: OpenRows, index: number): boolean {
  try {
    cursor.to(index)
    return true
  } catch (error) {
    if (isVaultError(error, 'data_loss')) return false
    throw error
  }
}

/** Returns a value, null if there is none. Returns undefined if it cannot be read, as a plain cell that was changed to another type. */
function readValue(cursor: OpenRows, column: Column, unreadable: () => void): unknown {
  try {
    return cursor.value(column)
  } catch {
    unreadable()
    return undefined
  }
}

/** Returns how a stored digest differs from that of the value; undefined if it does not. */
function compareDigest(stored: Cell, computed: Uint8Array | undefined): RecordFindingKind | undefined {
  if (computed === undefined) return stored === null ? undefined : 'unexpected_digest'
  if (stored === null) return 'missing_digest'
  return stored instanceof Uint8Array && sameBytes(stored, computed) ? undefined : 'wrong_digest'
}
