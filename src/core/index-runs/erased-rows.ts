/** Notes of erased rows: what a commit erased of a table with sealed indexes, whose keys must leave them. A note is gone when they have. */
import type { NewRow } from '../ports/storage.ts'
import { ByteWriter, readU32 } from '../util/bytes.ts'
import { CONTENTS, PREFIX_BYTES, padToStep, ROW_BYTES, readRow, type SealingKeys, sealRun, writeRow } from './delta.ts'

/** Space of notes: no table and no index has this number. */
export const ERASED = 0xffff_ffff

/** Seals the note of some rows of a table as a row of INDEX_RUNS. */
export function sealErased(keys: SealingKeys, id: number, table: { readonly objectId: number }, rows: readonly number[]): NewRow {
  const out = new ByteWriter()
  out.u8(CONTENTS.erased)
  out.u32(ERASED)
  out.u32(table.objectId)
  out.u32(rows.length)
  for (const row of rows) writeRow(out, row)
  padToStep(out)
  return sealRun(keys, { id, space: ERASED, content: out.written() })
}

/** Returns what a note says: the object id of the table, and the rows. */
export function readErased(content: Uint8Array): { readonly table: number; readonly rows: readonly number[] } {
  const count = readU32(content, PREFIX_BYTES + 4)
  const first = PREFIX_BYTES + 8
  return {
    table: readU32(content, PREFIX_BYTES),
    rows: Array.from({ length: count }, (_, index) => readRow(content, first + index * ROW_BYTES)),
  }
}
