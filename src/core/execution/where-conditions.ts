/** The `where` of a read by value: what it says of columns, as conditions that a query could have. */
import { parseListedValue } from '../barrier/parse-record.ts'
import { unknownColumn } from '../barrier/record-errors.ts'
import { Fault, fault, printableName, words } from '../errors.ts'
import { allOf, anyOf, type Condition, negate, type Term } from '../expressions/condition.ts'
import { LANGUAGE_ERROR_CODES, LanguageError } from '../expressions/language-error.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { assertReadable, useRef } from '../sql/column-uses.ts'
import type { Source, Use, UseKind } from '../sql/query.ts'
import { isKnown } from '../sql/scope.ts'
import { readInput } from '../util/boundary.ts'
import { createJsonBudget } from '../values/json-types.ts'
import { parseList } from './check-input.ts'
import type { OperationContext, ParsingContext } from './context.ts'

/**
 * Which values of a column are meant: those from one on, up to one, above or below one, and texts that begin with one. Several are all true. `from` and
 * `to` include their value, `above` and `below` do not.
 */
export interface ValueRange<Value = unknown> {
  readonly from?: Value
  readonly above?: Value
  readonly to?: Value
  readonly below?: Value
  readonly prefix?: string
}

const RANGE_MEMBERS = ['from', 'above', 'to', 'below', 'prefix'] as const

/** What a request says of one column. `members`: a range, or a value of a column of objects. */
export interface WhereTerm {
  readonly name: string
  readonly given:
    | { readonly kind: 'null' }
    | { readonly kind: 'values'; readonly values: readonly unknown[]; readonly isList: boolean }
    | { readonly kind: 'members'; readonly members: Readonly<Record<string, unknown>> }
}

/** Returns what a request says of each column. Throws `invalid_request` unless it names at least one, and for one that is undefined: it would widen the read. */
export function parseTerms(context: ParsingContext, where: unknown): readonly WhereTerm[] {
  const columns = isObject(where) ? Object.entries(where) : []
  if (columns.length === 0)
    throw fault(
      'invalid_request',
    )`where must be an object of columns, each with its value, a list of values, null or a range: { column: value }.`
  return columns.map(([name, value]) => {
    if (value === undefined) throw fault('invalid_request')`Column ${printableName(name)} of where is undefined. Give it a value.`
    if (value === null) return { name, given: { kind: 'null' } }
    if (Array.isArray(value))
      return { name, given: { kind: 'values', values: parseList(context, value, 'values of where'), isList: true } }
    if (isObject(value)) return { name, given: { kind: 'members', members: { ...value } } }
    return { name, given: { kind: 'values', values: [value], isList: false } }
  })
}

/** True for an object of members, and not for a value such as a date. */
function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/**
 * The values that one column is looked up by; undefined if the request says more, or if nothing can look them up. Texts are always looked up: a request of the
 * specification is refused where nothing can, and reads no whole table.
 */
export function lookedUpBy(
  table: Table,
  terms: readonly WhereTerm[],
  areTexts: boolean,
): { readonly columnName: string; readonly values: readonly unknown[]; readonly isList: boolean } | undefined {
  const [only, other] = terms
  const column = only && table.byName.get(only.name)
  if (only === undefined || other !== undefined || only.given.kind === 'null') return undefined
  if (areTexts && only.given.kind === 'values') return { columnName: only.name, ...only.given }
  const given = column?.lookup === undefined ? undefined : valuesIn(column, only.given)
  return given && { columnName: only.name, ...given }
}

type Given = Exclude<WhereTerm['given'], { readonly kind: 'null' }>

/** Returns the values that are meant one by one; undefined for a range. */
function valuesIn({ type }: Column, given: Given): { readonly values: readonly unknown[]; readonly isList: boolean } | undefined {
  if (given.kind === 'values') return given
  return type.comparesAs === undefined ? { values: [given.members], isList: false } : undefined
}

/** What a read by value finds. */
export interface WhereConditions {
  readonly conditions: readonly Condition[]
  /** A text for each condition, equal for equal ones only. It contains values. */
  readonly texts: readonly string[]
  /** Those that digests decide, with the column and the values that one of the rows must have. */
  readonly byDigest: ReadonlyMap<Condition, { readonly column: Column; readonly values: readonly unknown[] }>
}

/** What the terms of a request are resolved with. `uses` gets each use of a column. */
export interface Resolving {
  readonly source: Source
  readonly uses: Use[]
  readonly areTexts: boolean
}

/**
 * Returns the conditions of a request. Throws `invalid_request` for a column that the caller does not know and for an unknown member, `forbidden` for a use that their grants
 * allow in no record, `unprocessable` for a value that is not one of its column.
 */
export function resolveTerms(
  context: Pick<OperationContext, 'limits'>,
  terms: readonly WhereTerm[],
  resolving: Resolving,
): WhereConditions {
  const { table } = resolving.source
  const json = createJsonBudget(context.limits)
  const byDigest = new Map<Condition, { readonly column: Column; readonly values: readonly unknown[] }>()
  const texts: string[] = []
  const conditions = terms.map(({ name, given }): Condition => {
    const column = knownColumn(resolving.source, name)
    const parse = (value: unknown, path: string, index?: number): unknown =>
      readInput(() => parseListedValue(table, column, { value, list: `where.${path}`, index, isText: resolving.areTexts, json }))
    const note = (word: string, values: readonly unknown[]): void => {
      const distinct = new Set(values.map((value) => column.type.toText(value)))
      texts.push(JSON.stringify([column.objectId, word, ...[...distinct].sort()]))
    }
    if (given.kind === 'null') {
      useColumn(resolving, column, 'null test')
      note('null', [])
      return { kind: 'isNull', ref: { source: 0, column } }
    }
    const listed = valuesIn(column, given)
    if (listed !== undefined) {
      useColumn(resolving, column, 'equality')
      const values = listed.values.map((value, index) => parse(value, column.name, listed.isList ? index : undefined))
      note('=', values)
      const condition = anyOf(values.map((value) => compare('=', column, value)))
      if (column.lookup !== undefined && column.lookup === column.digest) byDigest.set(condition, { column, values })
      else assertComparable(table, column)
      return condition
    }
    const members = given.kind === 'members' ? Object.entries(given.members) : []
    useColumn(resolving, column, 'comparison')
    assertComparable(table, column)
    if (members.length === 0) throw noBound(column)
    return allOf(
      members.map(([member, value]) => {
        const isKnownMember = RANGE_MEMBERS.some((known) => known === member)
        if (!isKnownMember || value === undefined || value === null) throw invalidRange(column, member, isKnownMember)
        if (member === 'prefix') assertPrefix(table, column, value)
        const parsed = parse(value, `${column.name}.${member}`)
        note(member, [parsed])
        return inRange(member, column, parsed)
      }),
    )
  })
  return { conditions, texts, byDigest }
}

/** Returns the column that orders a read. Throws like `resolveTerms`. */
export function resolveOrderColumn(resolving: Resolving, name: string): Column {
  const column = knownColumn(resolving.source, name)
  useColumn(resolving, column, 'order')
  assertComparable(resolving.source.table, column)
  return column
}

function knownColumn(source: Source, name: string): Column {
  const column = source.table.byName.get(name)
  if (column === undefined || !isKnown(source, column)) throw unknownColumn(source.table.name, name)
  return column
}

/** Adds a use of a column, which needs what it needs in a query. */
function useColumn({ source, uses }: Resolving, column: Column, kind: UseKind): void {
  const ref = { source: 0, column }
  const name = { kind: 'column', table: undefined, name: column.name, at: 0 } as const
  try {
    useRef({ uses, scope: { sources: [source], idName: '' } }, ref, { name, kind })
    assertReadable(ref, 0)
  } catch (error) {
    if (!(error instanceof LanguageError)) throw error
    if (error.kind === 'name') throw unknownColumn(source.table.name, column.name)
    throw new Fault(LANGUAGE_ERROR_CODES[error.kind], error.sentence, { table: source.table.name, column: column.name })
  }
}

/** Throws `unprocessable` for a column whose values are not compared. */
function assertComparable({ name: table }: Table, { name, type }: Column): void {
  if (type.comparesAs !== undefined) return
  throw fault('unprocessable', {
    table,
    column: name,
  })`Column ${name} of table ${table} has values of type ${words(type.name)}, which are not compared.`
}

function invalidRange({ name }: Column, member: string, isKnownMember: boolean): Fault {
  const path = words(`where.${name}`)
  if (isKnownMember)
    return fault('invalid_request', { column: name })`${path}.${words(member)} must be a value. Leave it out for no bound.`
  const supported = words(RANGE_MEMBERS.join(', '))
  return fault('invalid_request', { column: name })`Unknown member ${printableName(member)} of ${path}. Supported: ${supported}.`
}

function noBound({ name }: Column): Fault {
  const supported = words(RANGE_MEMBERS.join(', '))
  return fault('invalid_request', { column: name })`${words(`where.${name}`)} has no member. Give it one of ${supported}.`
}

function assertPrefix(table: Table, { name, type }: Column, value: unknown): void {
  if (type.isText === true && typeof value === 'string' && value !== '') return
  const rule = type.isText === true ? 'must be text of at least one character' : `has no meaning for values of type ${type.name}`
  throw fault('unprocessable', { table: table.name, column: name })`${words(`where.${name}.prefix ${rule}`)}.`
}

function compare(operator: '=' | '<' | '>', column: Column, value: unknown): Condition {
  const left: Term = { kind: 'cell', ref: { source: 0, column } }
  return { kind: 'compare', operator, left, right: { kind: 'constant', value, type: column.type } }
}

function inRange(member: string, column: Column, value: unknown): Condition {
  switch (member) {
    case 'from':
      return negate(compare('<', column, value))
    case 'above':
      return compare('>', column, value)
    case 'to':
      return negate(compare('>', column, value))
    case 'below':
      return compare('<', column, value)
    default:
      return beginsWith(column, String(value))
  }
}

/** Texts that begin with one are those from it on, and below the first that does not. */
function beginsWith(column: Column, prefix: string): Condition {
  const end = textAfter(prefix)
  const from = negate(compare('<', column, prefix))
  return end === undefined ? from : allOf([from, compare('<', column, end)])
}

const LAST_CODE_POINT = 0x10_ffff
const BEFORE_SURROGATES = 0xd7ff
const AFTER_SURROGATES = 0xe000

/** Returns the first text, by code points, that is after all that begin with this one; undefined if there is none. */
function textAfter(prefix: string): string | undefined {
  let head = prefix
  for (;;) {
    const [last] = Array.from(head.slice(-2)).slice(-1)
    if (last === undefined) return undefined
    head = head.slice(0, -last.length)
    const point = last.codePointAt(0) ?? 0
    // No text has half of a character.
    if (point < LAST_CODE_POINT) return head + String.fromCodePoint(point === BEFORE_SURROGATES ? AFTER_SURROGATES : point + 1)
  }
}
