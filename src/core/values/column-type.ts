/** The law every column type obeys: how a value comes in, is written as bytes, compares, and is shown. */
import type { Cell, PhysicalType } from '../ports/storage.ts'
import type { ByteWriter } from '../util/bytes.ts'

/** A JSON value as `JSON.parse` gives it. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [member: string]: JsonValue }

/** The types a column can have. Source: semantics, "Schema". FILE joins them with the file operations. */
export type ColumnTypeName = 'STRING' | 'INTEGER' | 'FLOAT' | 'BOOL' | 'DATE' | 'TIME' | 'DATETIME' | 'JSON' | 'ARRAY'

/** Why an input is no value of a type: "must be …", for a sentence that names the column. Never quotes the input. */
export class ValueFault extends Error {}

/** One column type. `Value` is the trusted form: once parsed, every other method takes it without checking. */
export interface ColumnType<Value> {
  readonly name: ColumnTypeName
  /** First byte of every digest input (1 STRING, 2 INTEGER, 3 FLOAT, 4 BOOL, 5 DATE, 6 TIME, 7 DATETIME, 8 JSON, 9 ARRAY): equal bytes of two types never give equal digests. Never changes. */
  readonly tag: number
  /** Cell type of a column of this type that is kept plain. */
  readonly physical: PhysicalType
  /** Untrusted input to trusted value, in one canonical form per value; throws `ValueFault`. Never sees null. */
  parse(input: unknown): Value
  /** The same from text, as a lookup or a query literal gives it; throws `ValueFault`. */
  fromText(text: string): Value
  /** Bytes for the sealed body. */
  write(value: Value, out: ByteWriter): void
  /** The value `write` wrote to `bytes[start .. end)`. */
  read(bytes: Uint8Array, start: number, end: number): Value
  /** Bytes for the digest: equal for equal values and only for them. */
  canonical(value: Value, out: ByteWriter): void
  /** Negative, zero or positive; undefined where values of this type have no order. */
  compare(left: Value, right: Value): number | undefined
  /** A cell of a plain column, ordering as the values do where they have an order. */
  toCell(value: Value): Exclude<Cell, null>
  fromCell(cell: Exclude<Cell, null>): Value
  /** The value as text, for detokenize and masks. */
  show(value: Value): string
  /** What a read in plain text answers: JSON, with integers beyond 2^53 as text. */
  answer(value: Value): JsonValue
}
