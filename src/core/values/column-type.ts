/** The contract of every column type: how a value is parsed, written as bytes, compared and returned. */
import type { Cell, PhysicalType } from '../ports/storage.ts'
import type { ByteWriter } from '../util/bytes.ts'

/** A JSON value as `JSON.parse` returns it. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [member: string]: JsonValue }

/** A JSON value to write. A member that is undefined is absent. */
export type JsonInput =
  | string
  | number
  | boolean
  | null
  | readonly JsonInput[]
  | { readonly [member: string]: JsonInput | undefined }

/** The types of columns whose values callers write. A FILE column is the other kind: its values come from uploads. */
export type ColumnTypeName = 'STRING' | 'INTEGER' | 'FLOAT' | 'BOOL' | 'DATE' | 'TIME' | 'DATETIME' | 'JSON' | 'ARRAY'

/** Why an input is not a value of a type. The message is a clause, "must be …", that follows the name of the column. It never quotes the input. */
export class ValueError extends Error {
  /** True for a value over a limit that the application sets. */
  readonly isLimit: boolean

  constructor(message: string, { isLimit = false }: { readonly isLimit?: boolean } = {}) {
    super(message)
    this.isLimit = isLimit
  }
}

/** How many members the values of JSON and ARRAY columns can have, and how many those of one request can still have. */
export interface JsonBudget {
  readonly maxMembers: number
  left: number
}

/** One column type. `Value` is the trusted form: `parse` checks it, and every other method takes it unchecked. */
export interface ColumnType<Value> {
  readonly name: ColumnTypeName | 'FILE'
  /**
   * First byte of every digest input: 1 STRING, 2 INTEGER, 3 FLOAT, 4 BOOL, 5 DATE, 6 TIME, 7 DATETIME, 8 JSON, 9 ARRAY, 10 FILE.
   * With it, equal bytes of two types never give equal digests. Never changes.
   */
  readonly tag: number
  /** Cell type of a plain column of this type. */
  readonly physical: PhysicalType
  /** True if the cells of a plain column are texts of at most 64 characters. */
  readonly hasShortCells?: boolean
  /** Returns untrusted input as a trusted value, in one canonical form per value. Throws `ValueError`. Is never called with null. Default of `json`: one value of the default limit. */
  parse(input: unknown, json?: JsonBudget): Value
  /** The same for the text of a lookup or a query literal. Throws `ValueError`. */
  fromText(text: string, json?: JsonBudget): Value
  /** Number of bytes that `write` writes for every value; undefined if it varies. */
  readonly size: number | undefined
  /** Writes the bytes of the value for the sealed body. */
  write(value: Value, out: ByteWriter): void
  /** Returns the value that `write` wrote to `bytes[start .. end)`. */
  read(bytes: Uint8Array, start: number, end: number): Value
  /** Writes the bytes for the digest: equal for equal values and only for them. */
  canonical(value: Value, out: ByteWriter): void
  /** Returns a negative number, zero or a positive number; undefined if values of this type have no order. */
  compare(left: Value, right: Value): number | undefined
  /** Returns the cell of a plain column. Cells order as the values do. */
  toCell(value: Value): Exclude<Cell, null>
  /** The inverse of `toCell`. */
  fromCell(cell: Exclude<Cell, null>): Value
  /** Returns the value as text, for detokenize, masks and tokens. The inverse of `fromText`. */
  toText(value: Value): string
  /** True if the text is a usual way to write the value, such as another number format: as a token it would show the value. */
  isSpelledBy(value: Value, text: string): boolean
  /** Returns the value as JSON for a read at PLAIN_TEXT. Integers beyond 2^53 - 1 are text. */
  toJson(value: Value): JsonValue
}
