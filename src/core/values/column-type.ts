/** The contract of every column type: what values are, how they are parsed, written as bytes, compared and returned. */
import type { Cell, PhysicalType } from '../ports/storage.ts'
import type { ByteWriter } from '../util/bytes.ts'
import type { OptionShape } from '../util/options.ts'
import type { PlainText } from './shown-text.ts'

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

/** Every column type by its name in a schema, as the compiler knows it: what callers write, and what a read in plain text returns. */
export interface ValueTypes {
  readonly STRING: { readonly input: PlainText; readonly output: string }
  /** Beyond 2^53 - 1 it is written as a bigint or decimal text, and read as decimal text. */
  readonly INTEGER: { readonly input: number | bigint | PlainText; readonly output: number | string }
  /** A number of at most 15 digits, or an integer up to 2^53 - 1. Read as decimal text with all digits of the scale. */
  readonly DECIMAL: { readonly input: number | bigint | PlainText; readonly output: string }
  readonly FLOAT: { readonly input: number; readonly output: number }
  readonly BOOL: { readonly input: boolean; readonly output: boolean }
  readonly DATE: { readonly input: PlainText; readonly output: string }
  readonly TIME: { readonly input: PlainText; readonly output: string }
  readonly DATETIME: { readonly input: PlainText | Date; readonly output: string }
  readonly JSON: { readonly input: Exclude<JsonInput, string> | PlainText; readonly output: JsonValue }
  readonly ARRAY: { readonly input: readonly JsonInput[]; readonly output: readonly JsonValue[] }
  /** Read as the name of the file. */
  readonly FILE: { readonly input: never; readonly output: string }
}

/** The types of columns whose values callers write. A FILE column is the other kind: its values come from uploads. */
export type ColumnTypeName = Exclude<keyof ValueTypes, 'FILE'>

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

/**
 * How canonical bytes become order keys, which compare byte by byte: as they are, with the sign of a whole number turned, with the bits of a double, or as
 * the UTF-8 of a text, cut.
 */
export type KeyForm = 'bytes' | 'signed' | 'double' | 'text'

/** One column type. `Value` is the trusted form: `parse` checks it, and every other method takes it unchecked. */
export interface ColumnType<Value> {
  readonly name: keyof ValueTypes
  /** First byte of every digest input, another one for each type: equal bytes of two types never give equal digests. Never changes. */
  readonly tag: number
  /** Cell type of a plain column of this type. */
  readonly physical: PhysicalType
  /** True if the cells of a plain column are texts of at most 64 characters. */
  readonly hasShortCells?: boolean
  /**
   * What values are compared as. Columns of types with the same word can be compared with each other, `number` and `boolean` with such literals
   * too, and every type with text that `fromLiteral` reads. Undefined: values are not compared, not even with each other.
   */
  readonly comparesAs: string | undefined
  /** How values have order keys, by which a sealed index has them. Undefined: they have none. Forms but `text` need `fromCanonical`. */
  readonly keyForm: KeyForm | undefined
  /** True if MIN and MAX take the values. */
  readonly isOrdered: boolean
  /** True if SUM and AVG take the values, which are numbers and bigints. */
  readonly isSummable: boolean
  /** Of exact numbers, which are integers in their trusted form: how many of their digits follow the point. */
  readonly scale?: number
  /** True if values are strings and `write` writes their UTF-8: LIKE takes them, and their bytes are compared without making strings. */
  readonly isText?: boolean
  /** True if values are objects with keys, which the operator `?` finds. */
  readonly hasKeys?: boolean
  /** True if tokens of the values can have a format. */
  readonly hasFormats?: boolean
  /** The options of its columns beyond those of every column, by name. */
  readonly options?: Readonly<Record<string, OptionShape>>
  /** Returns untrusted input as a trusted value, in one canonical form per value. Throws `ValueError`. Is never called with null. Default of `json`: one value of the default limit. */
  parse(input: unknown, json?: JsonBudget): Value
  /** The same for the text of a lookup or a query literal. Throws `ValueError`. */
  fromText(text: string, json?: JsonBudget): Value
  /** The same for the text of a query literal, if queries have more spellings than lookups. */
  fromLiteral?(text: string): Value
  /** Number of bytes that `write` writes for every value; undefined if it varies. */
  readonly size: number | undefined
  /** Writes the bytes of the value for the sealed body. */
  write(value: Value, out: ByteWriter): void
  /** Returns the value that `write` wrote to `bytes[start .. end)`. */
  read(bytes: Uint8Array, start: number, end: number): Value
  /** Writes the bytes for the digest: equal for equal values and only for them. */
  canonical(value: Value, out: ByteWriter): void
  /** Returns the value of canonical bytes from `start` on. Absent: they are of many lengths, or not of one value. */
  fromCanonical?(bytes: Uint8Array, start: number): Value
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

type Filled = Exclude<Cell, null>

/** Returns the text of a text cell. Throws if the cell is not text: the table was changed outside the vault. */
export function textCell(cell: Filled): string {
  if (typeof cell !== 'string') throw new Error('a text cell does not hold text')
  return cell
}

/** Returns the number of an integer or real cell: a number up to 2^53 - 1, else a bigint. Throws if the cell is not a number. */
export function numberCell(cell: Filled): number | bigint {
  if (typeof cell === 'number') return cell
  if (typeof cell !== 'bigint') throw new Error('a number cell does not hold a number')
  return toSafeNumber(cell)
}

/** Returns a bigint as a number if no digit is lost, else unchanged. */
export function toSafeNumber(value: bigint): number | bigint {
  const near = Number(value)
  return Number.isSafeInteger(near) ? near : value
}
