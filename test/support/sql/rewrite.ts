/** Rewrites the table names of a query to those of the known vault. The rest of the text stays. */
import type { Expression, Operand } from '../../../src/core/expressions/ast.ts'
import { LanguageError } from '../../../src/core/expressions/language-error.ts'
import { parseSelect } from '../../../src/core/sql/parse-select.ts'
import type { FromTable, ParsedSelect } from '../../../src/core/sql/select.ts'
import { unreachable } from '../../../src/core/util/causes.ts'
import type { KnownPlace } from './known-vault.ts'

/** One replacement in a text. */
interface Edit {
  readonly at: number
  readonly length: number
  readonly text: string
}

const NAME = /"(?:[^"]|"")*"|[A-Za-z_][A-Za-z0-9_$]*/y
const QUOTED = /'(?:[^']|'')*'|"(?:[^"]|"")*"/y
/** A moment as the known queries write it: without an offset. */
const MOMENT = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}:\d{2}))?$/

/**
 * The query with its tables named as the vault names them, each under the alias it had, and with moments that are compared with
 * DATETIME columns read as UTC. What does not parse is answered as it is, for the vault to refuse.
 */
export function rewriteQuery(sql: string, places: ReadonlyMap<string, KnownPlace>): string {
  const select = parsed(sql)
  if (select === undefined) return sql
  const sources = [select.from, ...select.joins.map((join) => join.table)]
  const conditions = [...select.joins.map((join) => join.on), ...(select.where === undefined ? [] : [select.where])]
  const edits = [
    ...sources.flatMap((source) => tableEdits(sql, source, places)),
    ...conditions.flatMap((condition) => momentEdits(sql, condition, isMomentIn(sources, places))),
  ]
  let rewritten = sql
  for (const { at, length, text } of edits.toSorted((one, other) => other.at - one.at)) {
    rewritten = rewritten.slice(0, at) + text + rewritten.slice(at + length)
  }
  return rewritten
}

/** Whether a query parses. Only such a query needs its tables. */
export function isParsed(sql: string): boolean {
  return parsed(sql) !== undefined
}

function parsed(sql: string): ParsedSelect | undefined {
  try {
    return parseSelect(sql)
  } catch (error) {
    if (error instanceof LanguageError) return undefined
    throw error
  }
}

function tableEdits(sql: string, source: FromTable, places: ReadonlyMap<string, KnownPlace>): Edit[] {
  const place = places.get(source.table)
  if (place === undefined) return []
  const { length } = pieceAt(NAME, sql, source.at)
  const alias = quoted(source.alias)
  // An alias that repeats the table's name parses as none at all.
  const after = sql.slice(source.at + length).trimStart()
  const isGiven = source.alias !== source.table || namesAgain(after, source.alias)
  return [{ at: source.at, length, text: isGiven ? place.name : `${place.name} AS ${alias}` }]
}

function namesAgain(after: string, alias: string): boolean {
  const [word = ''] = /^(?:as\s+)?("(?:[^"]|"")*"|\w+)/i.exec(after) ?? []
  return (
    word
      .replace(/^as\s+/i, '')
      .replaceAll('"', '')
      .toLowerCase() === alias
  )
}

/** A name as a query may spell any. */
function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** True if an operand is a DATETIME column. */
function isMomentIn(sources: readonly FromTable[], places: ReadonlyMap<string, KnownPlace>): (operand: Operand) => boolean {
  return (operand) =>
    operand.kind === 'column' &&
    sources
      .filter(({ alias }) => operand.table === undefined || operand.table === alias)
      .flatMap(({ table }) => places.get(table)?.table.columns ?? [])
      .some(({ name, type }) => name === operand.name && type === 'DATETIME')
}

function momentEdits(sql: string, expression: Expression, isMoment: (operand: Operand) => boolean): Edit[] {
  const inside = (inner: Expression): Edit[] => momentEdits(sql, inner, isMoment)
  switch (expression.kind) {
    case 'and':
    case 'or':
      return expression.operands.flatMap(inside)
    case 'not':
      return inside(expression.operand)
    case 'compare': {
      const { left, right } = expression
      return [...(isMoment(left) ? literalEdits(sql, right) : []), ...(isMoment(right) ? literalEdits(sql, left) : [])]
    }
    case 'like':
    case 'isNull':
    case 'hasKey':
    case 'truth':
      return []
    default:
      return unreachable(expression)
  }
}

function literalEdits(sql: string, operand: Operand): Edit[] {
  const [, day, time = '00:00:00'] = operand.kind === 'text' ? (MOMENT.exec(operand.text) ?? []) : []
  if (day === undefined) return []
  return [{ at: operand.at, length: pieceAt(QUOTED, sql, operand.at).length, text: `'${day}T${time}Z'` }]
}

function pieceAt(pattern: RegExp, sql: string, at: number): string {
  pattern.lastIndex = at
  const [piece] = pattern.exec(sql) ?? []
  if (piece === undefined) throw new Error(`a tree points at character ${at}, where nothing of its kind is`)
  return piece
}
