/** Compare-and-set: the versions that reads return, and changes that are made only if a record still has one of them. */
import { inRecord, type RecordIndex, recordDetail } from '../barrier/record-errors.ts'
import { decodeVersions } from '../barrier/record-ids.ts'
import { asRefusal, type Fault, fault } from '../errors.ts'
import type { KeyRing } from '../ports/crypto.ts'
import type { Row } from '../ports/storage.ts'
import type { Table } from '../schema/layout.ts'
import { at } from '../util/lists.ts'

/** A record of a request: its row, undefined for an id without one, and the version that it must have. */
export interface ConditionalRecord {
  readonly row: number | undefined
  readonly ifVersion: string | undefined
  readonly index: RecordIndex
}

/** Returns the option `ifVersion`. Throws `invalid_request` for anything but text. */
export function parseIfVersion(given: unknown): string | undefined {
  if (given === undefined || (typeof given === 'string' && given !== '')) return given
  throw fault('invalid_request')`ifVersion must be the version of a record as a read returned it.`
}

/** The versions that rows must have, by row id, and the index of the record that asks for it. */
export type RequiredByRow = ReadonlyMap<number, { readonly version: number; readonly index: RecordIndex }>

/**
 * Returns the versions that the rows of records must have. Throws `invalid_request` for a text that is no version of its record, and `aborted`
 * for two versions of one record.
 */
export function requiredByRow(ring: KeyRing, table: Table, records: readonly ConditionalRecord[]): RequiredByRow {
  const required = new Map<number, { readonly version: number; readonly index: RecordIndex }>()
  const asked = records.filter(({ row, ifVersion }) => row !== undefined && ifVersion !== undefined)
  if (asked.length === 0) return required
  const texts = asked.map(({ ifVersion = '' }) => ifVersion)
  for (const [position, found] of decodeVersions(ring, table, texts).entries()) {
    const { row, index } = at(asked, position)
    if (found === undefined || found.id !== row) {
      const detail = recordDetail(table, index)
      throw fault(
        'invalid_request',
        detail,
      )`ifVersion${inRecord(index)} is no version of its record. Pass the one that a read of it returned.`
    }
    if (required.get(row)?.version !== found.version && required.has(row)) throw versionMoved(table, index)
    required.set(row, { version: found.version, index })
  }
  return required
}

/** Throws `aborted` if a row has another version than it must have. */
export function assertVersion(table: Table, { version }: Row, required: ReturnType<RequiredByRow['get']>): void {
  if (required !== undefined && required.version !== version) throw versionMoved(table, required.index)
}

function versionMoved(table: Table, index: RecordIndex): Fault {
  const moved = fault(
    'aborted',
    recordDetail(table, index),
  )`The record${inRecord(index)} of table ${table.name} was changed since its version was read. Read it again.`
  return asRefusal(moved)
}
