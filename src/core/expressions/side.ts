/** What stands on a side of an operator once its name is known: a cell, or something given by the author or by the caller's context. */
import type { Sentence } from '../errors.ts'
import { say, words } from '../errors.ts'
import { unreachable } from '../util/unreachable.ts'
import type { ColumnName, Literal, Operand } from './ast.ts'
import { truthOf, typeOf } from './columns-of.ts'
import type { ColumnRef, Condition } from './condition.ts'
import { TextFault } from './text-fault.ts'

/** A fact about a caller. */
export type ContextValue = string | number | boolean

/** What the names of a condition mean. */
export interface Scope {
  /** The column of this name; throws TextFault where there is none. */
  column(name: ColumnName): ColumnRef
  /** Facts about the caller, undefined where one is missing. Where this is given, `ctx.name` asks it and no column. */
  context?(name: string): ContextValue | undefined
}

/** A cell of a row. */
export interface CellSide {
  readonly kind: 'cell'
  readonly ref: ColumnRef
  readonly at: number
}

/** A literal, or a fact of the context as the literal it would be written as. */
export interface GivenSide {
  readonly kind: 'constant'
  readonly literal: Literal
  readonly isFromContext: boolean
  readonly at: number
}

/** One side of an operator. */
export type Side = CellSide | GivenSide

/** A condition that is unknown in every row. */
export const UNKNOWN: Condition = truthOf(undefined)

/** The table name that stands for the caller's context. */
const CONTEXT = 'ctx'

/** Looks the side's name up. Throws TextFault for a column that is unknown or has its values elsewhere. */
export function settleSide(operand: Operand, scope: Scope): Side {
  const { at } = operand
  if (operand.kind !== 'column') return { kind: 'constant', literal: operand, isFromContext: false, at }
  if (operand.table === CONTEXT && scope.context !== undefined) {
    return { kind: 'constant', literal: literalOf(scope.context(operand.name), at), isFromContext: true, at }
  }
  const ref = scope.column(operand)
  if (ref.column?.token?.expires === true) {
    throw new TextFault('rule', say`${capital(nameOf(ref))} is transient and cannot be used in a condition.`, at)
  }
  return { kind: 'cell', ref, at }
}

/** A missing fact is null, and so is a number that no literal could be. */
function literalOf(value: ContextValue | undefined, at: number): Literal {
  switch (typeof value) {
    case 'string':
      return { kind: 'text', text: value, at }
    case 'number':
      return Number.isFinite(value) ? { kind: 'number', text: String(value), at } : { kind: 'null', at }
    case 'boolean':
      return { kind: 'boolean', value, at }
    case 'undefined':
      return { kind: 'null', at }
    default:
      return unreachable(value)
  }
}

/**
 * Two sides do not go together. That is the author's mistake, unless one of them comes from the caller's context, which the author
 * does not write: then nothing can be known.
 */
export function mismatch(fault: TextFault, ...sides: readonly Side[]): Condition {
  if (sides.some((side) => side.kind === 'constant' && side.isFromContext)) return UNKNOWN
  throw fault
}

/** Words as they begin a sentence. */
export function capital({ texts, pieces }: Sentence): Sentence {
  const [first = '', ...others] = texts
  const [piece, ...rest] = pieces
  if (first === '' && typeof piece === 'object') return { texts, pieces: [capital(piece), ...rest] }
  return { texts: [first.slice(0, 1).toUpperCase() + first.slice(1), ...others], pieces }
}

/** A column as a sentence names it. */
export function nameOf({ column }: ColumnRef): Sentence {
  return column === undefined ? words('the record id') : say`column ${column.name}`
}

/** A side as a sentence names it, with its type. */
export function describe(side: Side): Sentence {
  if (side.kind === 'constant') return words(NOUNS[side.literal.kind])
  return side.ref.column === undefined ? nameOf(side.ref) : say`${nameOf(side.ref)} of type ${words(typeOf(side.ref).name)}`
}

const NOUNS: Readonly<Record<Literal['kind'], string>> = {
  text: 'a string',
  number: 'a number',
  boolean: 'TRUE or FALSE',
  null: 'NULL',
}
