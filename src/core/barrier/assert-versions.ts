/** Refuses to write a record whose version no update can raise: without this, every attempt seems to lose to another writer. */
import { fault, words } from '../errors.ts'
import type { KeyRing } from '../ports/crypto.ts'
import type { Row } from '../ports/storage.ts'
import type { Table } from '../schema/layout.ts'
import { encodeRecordIds } from './record-ids.ts'

/** True for a version that no update can raise: versions begin with 1, so it was changed in the database. It is not exact as a number either. */
export function hasImpossibleVersion({ version }: Pick<Row, 'version'>): boolean {
  return !Number.isSafeInteger(version)
}

/** Throws `data_loss`, with table and record id, for the first of these rows that has an impossible version. */
export function assertVersions({ ring }: { readonly ring: KeyRing }, table: Table, rows: readonly Row[]): void {
  const row = rows.find(hasImpossibleVersion)
  if (row === undefined) return
  const [id = ''] = encodeRecordIds(ring, table, [row.id])
  throw fault('data_loss', {
    table: table.name,
    id,
  })`Record ${words(id)} of table ${table.name} has a version that no update can raise: it was changed in the database. Restore it.`
}
