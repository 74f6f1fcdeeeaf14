/** The operands of an operator with resolved names: a column, or a constant from the text or the caller's context. */
import { type Sentence, say, words } from '../errors.ts'
import { unreachable } from '../util/causes.ts'
import type { ColumnIdentifier, Literal, Operand } from './ast.ts'
import { type ColumnRef, type Condition, truthOf, typeOf } from './condition.ts'
import { LanguageError } from './language-error.ts'
import { withoutValue } from './parameter-values.ts'

/** An attribute of a caller. */
export type ContextValue = string | number | boolean

/** An attribute that exists but that no condition can use: a list, an object, or one with two spellings. */
export const UNUSABLE = Symbol('unusable')

/** Resolves the names of a condition. */
export interface NameResolver {
  /** Returns the column of this name. Throws `LanguageError` if there is none. */
  column(name: ColumnIdentifier): ColumnRef
  /**
   * Returns an attribute of the caller, undefined if it is absent, or UNUSABLE. If this method exists, `ctx.name` is an attribute and never a column.
   */
  context?(name: string): ContextValue | typeof UNUSABLE | undefined
}

/** A column operand. */
export interface ColumnOperand {
  readonly kind: 'cell'
  readonly ref: ColumnRef
  readonly at: number
}

/** A literal, or an attribute of the caller's context as the equivalent literal. */
export interface ConstantOperand {
  readonly kind: 'constant'
  readonly literal: Literal
  readonly isFromContext: boolean
  /** True for an attribute that exists and is unusable. Its literal is NULL, and a test for null is unknown too. */
  readonly isUnusable: boolean
  readonly at: number
}

/** One resolved operand. */
export type ResolvedOperand = ColumnOperand | ConstantOperand

/** A condition that is unknown in every row. */
export const UNKNOWN: Condition = truthOf(undefined)

/** The table name of the caller's context. */
const CONTEXT = 'ctx'

/**
 * Resolves the name of an operand. Throws `LanguageError` for an unknown column, for a transient one, whose values are not stored in the
 * row, and for a parameter without a value.
 */
export function resolveOperand(operand: Operand, resolver: NameResolver): ResolvedOperand {
  const { at } = operand
  if (operand.kind === 'parameter') throw withoutValue(at)
  if (operand.kind !== 'column') return { kind: 'constant', literal: operand, isFromContext: false, isUnusable: false, at }
  if (operand.table === CONTEXT && resolver.context !== undefined) {
    const value = resolver.context(operand.name)
    const isUnusable = value === UNUSABLE
    return { kind: 'constant', literal: literalOf(isUnusable ? undefined : value, at), isFromContext: true, isUnusable, at }
  }
  const ref = resolver.column(operand)
  if (ref.column?.token?.expires === true) {
    throw new LanguageError('rule', say`${capitalize(nameOf(ref))} is transient and cannot be used in a condition.`, at)
  }
  return { kind: 'cell', ref, at }
}

/** An absent attribute is NULL. So is a number that cannot be written as a literal. */
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
 * Throws the error of two operands that do not match. If one comes from the caller's context, returns UNKNOWN instead: the author of the
 * text cannot know the attribute's type.
 */
export function mismatch(fault: LanguageError, ...operands: readonly ResolvedOperand[]): Condition {
  if (operands.some((operand) => operand.kind === 'constant' && operand.isFromContext)) return UNKNOWN
  throw fault
}

/** The sentence with its first letter in upper case. */
export function capitalize({ texts, pieces }: Sentence): Sentence {
  const [first = '', ...others] = texts
  const [piece, ...rest] = pieces
  if (first === '' && typeof piece === 'object') return { texts, pieces: [capitalize(piece), ...rest] }
  return { texts: [first.slice(0, 1).toUpperCase() + first.slice(1), ...others], pieces }
}

/** A column as a part of a sentence. */
export function nameOf({ column }: ColumnRef): Sentence {
  return column === undefined ? words('the record id') : say`column ${column.name}`
}

/** An operand and its type as a part of a sentence. */
export function describe(operand: ResolvedOperand): Sentence {
  if (operand.kind === 'constant') return describeLiteral(operand.literal)
  return operand.ref.column === undefined
    ? nameOf(operand.ref)
    : say`${nameOf(operand.ref)} of type ${words(typeOf(operand.ref).name)}`
}

/** The name of the parameter whose value a literal is, at the beginning of a sentence; otherwise `written`, as in "This pattern". */
export function subjectOf({ parameter }: Literal, written: string): Sentence {
  return words(parameter === undefined ? written : `Parameter $${parameter}`)
}

function describeLiteral({ kind, parameter }: Literal): Sentence {
  return words(parameter === undefined ? NOUNS[kind] : `parameter $${parameter} (${NOUNS[kind]})`)
}

const NOUNS: Readonly<Record<Literal['kind'], string>> = {
  text: 'a string',
  number: 'a number',
  boolean: 'TRUE or FALSE',
  null: 'NULL',
}
