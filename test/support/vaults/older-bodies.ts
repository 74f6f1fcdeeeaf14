/** Writes bodies of the older layout, which no code outside tests writes. */
import { type CheckPlacement, cellBits, hashColumn } from '../../../src/core/sealing/cell-layout.ts'
import { ByteWriter } from '../../../src/core/util/bytes.ts'

/** One cell: its column, what it stores for its token, and its value. */
export interface OlderCell {
  readonly ordinal: number
  readonly check: CheckPlacement
  readonly value: Uint8Array | undefined
  /** The text of its token, if it has one. */
  readonly text?: Uint8Array
}

/** The hash of a column in these tests. */
export const hashOf = (ordinal: number) => hashColumn(1, `column ${ordinal}`)

/** Returns a body with these cells, in this order. An own token check is the ordinal, twice. */
export function writeOlderBody(cells: readonly OlderCell[], markOf = (ordinal: number) => hashOf(ordinal).cellMark): Uint8Array {
  const out = new ByteWriter(4)
  if (cells.some(({ check }) => check === 'shared')) {
    out.u8(2)
    out.u32(0xaaaa)
    out.u32(0xbbbb)
  }
  for (const { ordinal, check, value, text } of cells) {
    out.varint(((ordinal + 1) << 3) | cellBits(check, value !== undefined))
    out.u24(markOf(ordinal))
    writeContent(out, { ordinal, check, value, ...(text === undefined ? {} : { text }) })
  }
  return out.written().slice()
}

/** Writes the content of a cell. */
export function writeContent(out: ByteWriter, { ordinal, check, value, text }: OlderCell): void {
  if (check === 'own') {
    out.u32(ordinal)
    out.u32(ordinal)
  }
  if (check === 'text') writeBytes(out, text ?? new Uint8Array(0))
  if (value !== undefined) writeBytes(out, value)
}

function writeBytes(out: ByteWriter, bytes: Uint8Array): void {
  out.varint(bytes.length)
  out.raw(bytes)
}
