/** The `sql` tag: a template whose interpolated values are parameters, so that none can become SQL. */
import { fault, words } from '../errors.ts'
import { type FixedValue, fixed, type QueryValue, SUPPORTED_VALUES } from '../expressions/parameter-values.ts'
import { readInput } from '../util/boundary.ts'

/** Exists in types only: objects are recognized by `PARTS`. */
declare const BRAND: unique symbol

/** A query, or a part of one, made by `sql`. Frozen. */
export interface SqlQuery {
  /** The text, with `$1`, `$2` and so on in the places of the values. */
  readonly text: string
  /** The values; a Date is the text of a DATETIME. */
  readonly values: readonly Exclude<QueryValue, Date>[]
  readonly [BRAND]: true
}

/** What can be interpolated: a value, which becomes a parameter, or a part of a query, which becomes a part of the text. */
export type SqlPiece = QueryValue | SqlQuery

/** The type of `sql`. */
export interface SqlTag {
  /**
   * Makes a query of a template: sql`SELECT name FROM customers WHERE email = ${email}`. Values become parameters, and what `sql` made
   * becomes a part of the text. Throws `invalid_request` for a piece of another type, and for `$1` or a letter beside a value in the template.
   */
  (texts: TemplateStringsArray, ...pieces: readonly SqlPiece[]): SqlQuery
  /** Makes one part of many, such as conditions with sql` OR ` between them. Default separator: a comma. Throws `invalid_request` for an empty list. */
  join(pieces: readonly SqlPiece[], separator?: SqlQuery): SqlQuery
}

/** A query in parts: one text more than values. */
interface Parts {
  readonly texts: readonly string[]
  readonly values: readonly FixedValue[]
}

/** Every object that `sql` made. An object that only looks like one has no parts here, so its text is not taken for SQL. */
const PARTS = new WeakMap<object, Parts>()

/** True for what `sql` of this copy of the package made. Runs no code of the object. */
export function isSqlQuery(piece: unknown): piece is SqlQuery {
  return typeof piece === 'object' && piece !== null && PARTS.has(piece)
}

/**
 * Returns a text as a pattern of LIKE and ILIKE that matches it alone: `%`, `_` and `\\` in it are no wildcards. Put `%` around it to find it
 * anywhere. Throws `invalid_request` for anything but a string. Source: docs/sql.md, "Parameters".
 */
export function escapeLike(text: string): string {
  if (typeof text !== 'string') throw fault('invalid_request')`escapeLike takes a string.`
  return text.replace(/[\\%_]/g, '\\$&')
}

/** Makes queries of templates. Source: docs/sql.md, "Parameters". */
export const sql: SqlTag = Object.freeze(
  Object.assign((texts: TemplateStringsArray, ...pieces: readonly SqlPiece[]) => readInput(() => tag(texts, pieces)), {
    join: (pieces: readonly SqlPiece[], separator?: SqlQuery) => readInput(() => join(pieces, separator)),
  }),
)

function tag(texts: TemplateStringsArray, pieces: readonly SqlPiece[]): SqlQuery {
  if (!isTemplate(texts)) throw fault('invalid_request')`sql is the tag of a template. Write it before the text in backticks.`
  if (!texts.every((text) => typeof text === 'string')) throw fault('invalid_request')`The template of sql has an invalid escape.`
  return assemble(texts, pieces)
}

function join(pieces: readonly SqlPiece[], separator: SqlQuery = made({ texts: [', '], values: [] })): SqlQuery {
  if (!Array.isArray(pieces) || pieces.length === 0) throw fault('invalid_request')`sql.join takes a list that is not empty.`
  if (!isSqlQuery(separator)) throw fault('invalid_request')`The separator of sql.join must be made by sql.`
  const all = pieces.flatMap((piece: SqlPiece, index) => (index === 0 ? [piece] : [separator, piece]))
  return assemble(
    Array.from({ length: all.length + 1 }, () => ''),
    all,
  )
}

/** A function can also be called with a list of texts, which may come from anywhere. */
function isTemplate(texts: unknown): boolean {
  return Array.isArray(texts) && Object.hasOwn(texts, 'raw')
}

/** Puts each piece behind its text: the texts of parts become one text, and each value separates two. */
function assemble(given: readonly string[], pieces: readonly SqlPiece[]): SqlQuery {
  const [first = '', ...others] = given
  const texts = [first]
  const values: FixedValue[] = []
  const add = (text: string): void => void texts.push(`${texts.pop() ?? ''}${text}`)
  for (const [index, piece] of pieces.entries()) {
    const parts = partsOf(piece, index)
    for (const [place, value] of parts.values.entries()) {
      add(parts.texts[place] ?? '')
      values.push(value)
      texts.push('')
    }
    add(`${parts.texts[parts.values.length] ?? ''}${others[index] ?? ''}`)
  }
  assertSeparate(texts)
  return made({ texts, values })
}

function partsOf(piece: unknown, index: number): Parts {
  const parts = typeof piece === 'object' && piece !== null ? PARTS.get(piece) : undefined
  if (parts !== undefined) return parts
  const value = fixed(piece)
  if (value !== undefined) return { texts: ['', ''], values: [value] }
  throw fault('invalid_request')`Value ${index + 1} of sql must be ${words(SUPPORTED_VALUES)}, or made by sql.`
}

/** Throws `invalid_request` if a text could be read as a part of a parameter, or has one of its own. */
function assertSeparate(texts: readonly string[]): void {
  if (texts.some((text) => /\$\d/.test(text))) {
    throw fault('invalid_request')`A template of sql must not have ${words('$1')} in its text. Interpolate the value.`
  }
  const last = texts.length - 1
  const isTouched = texts.some((text, index) => {
    if (text === '') return index > 0 && index < last
    return (index > 0 && /^[A-Za-z0-9_$]/.test(text)) || (index < last && /[A-Za-z0-9_$]$/.test(text))
  })
  if (isTouched) throw fault('invalid_request')`A value of sql touches a word, a number or a value. Put a blank between them.`
}

function made(parts: Parts): SqlQuery {
  const [first = '', ...others] = parts.texts
  const text = `${first}${others.map((other, index) => `$${index + 1}${other}`).join('')}`
  const query = Object.freeze({ text, values: Object.freeze([...parts.values]) }) as SqlQuery // The brand exists in types only.
  PARTS.set(query, parts)
  return query
}
