/** A parsed query without its literals: texts that differ only in literals have one form, are parsed once, and are each bound to their own. */
import type { Constant, Literal } from '../expressions/ast.ts'
import { REDACTIONS } from '../redaction.ts'
import { replaceInSelect, type Select } from './select.ts'

/** The parsed query of every text of one form. It contains none of their literals. */
export interface SelectTemplate {
  /** The query with empty literals. Offsets after the first literal are those of another text, so errors must not use them. */
  readonly select: Select
  /** Returns the query of a text of this form, of which these are the literals; undefined if their number differs. */
  bind(literals: readonly Literal[]): Select | undefined
}

/** Where the value of an empty literal comes from. */
interface Slot {
  /** Position among the cut literals. */
  readonly index: number
  /** The distance of a sign, which is not cut, before the digits; 0 without a sign. */
  readonly distance: number
}

/** Returns the template of a query, from which these literals were cut; undefined if not each of them is in a condition. BETWEEN has the left side twice. */
export function createTemplate(bound: Select, literals: readonly Literal[]): SelectTemplate | undefined {
  const slots = new Map<Constant, Slot>()
  const filled = new Set<number>()
  let isWhole = true
  const select = replaceInSelect(bound, (literal) => {
    const slot = slotOf(literal, literals)
    if (slot === undefined) {
      isWhole &&= staysInForm(literal)
      return literal
    }
    const empty = emptied(literal)
    slots.set(empty, slot)
    filled.add(slot.index)
    return empty
  })
  if (!isWhole || filled.size !== literals.length) return undefined
  return {
    select,
    bind(given) {
      if (given.length !== literals.length) return undefined
      return replaceInSelect(select, (empty) => valueIn(slots.get(empty), given) ?? empty)
    },
  }
}

/** TRUE, FALSE and NULL stay in the form where they are written, and so do the names of levels. */
function staysInForm(literal: Constant): boolean {
  if (literal.kind === 'parameter' || literal.parameter !== undefined || literal.kind === 'number') return false
  return literal.kind !== 'text' || isLevel(literal)
}

/** Returns an object of its own without the value, by which its slot is found. */
function emptied({ kind }: Constant): Literal {
  const at = 0
  if (kind === 'boolean') return { kind, value: false, at }
  return kind === 'text' || kind === 'number' ? { kind, text: '', at } : { kind: 'null', at }
}

/** Returns where a literal was cut; undefined if it stayed in the form. A negative number begins at its sign, before what was cut. */
function slotOf(literal: Constant, literals: readonly Literal[]): Slot | undefined {
  const index = literals.findIndex(({ at }) => at >= literal.at)
  const cut = literals[index]
  if (cut === undefined || cut.kind !== literal.kind) return undefined
  const distance = cut.at - literal.at
  if (distance === 0) return { index, distance }
  const isSigned = cut.kind === 'number' && literal.kind === 'number' && literal.text === `-${cut.text}`
  return isSigned ? { index, distance } : undefined
}

function valueIn(slot: Slot | undefined, given: readonly Literal[]): Literal | undefined {
  const literal = slot === undefined ? undefined : given[slot.index]
  if (slot === undefined || literal?.kind !== 'number' || slot.distance === 0) return literal
  return { kind: 'number', text: `-${literal.text}`, at: literal.at - slot.distance }
}

/** A query without its literals, and the literals in the order of the text. */
export interface CutText {
  /** The text with a mark in the place of each literal and parameter. All else is as written, also blanks. */
  readonly form: string
  /** What was cut out, or the values of parameters that were. A number in the text is without its sign, which stays in the form. */
  readonly literals: readonly Literal[]
}

/** Longest text that is cut, with its values. Longer ones are rare, and their forms would fill memory. */
const MAX_CUT_LENGTH = 2048

/** In the place of a literal. The lexer accepts none of them outside of quotes. */
const MARKS = { text: '\u0000', number: '\u0001', boolean: '\u0003', null: '\u0004' } as const

/**
 * A text in quotes, a number or a parameter as the lexer reads it, or the start of what is not cut: a comment, a name in double quotes, a
 * quote that is not closed, another `$`. Digits within a word or after a dot or `$` are no number of a valid query. A parameter has no sign, but
 * a form does not show where the sign of a number was.
 */
const CUTTABLE =
  /'[^']*(?:''[^']*)*'|(?<![A-Za-z0-9_$.])(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|(?<![+-]\s*)\$\d+)(?![A-Za-z0-9_$])|["'$]|--|\/\*/g

/**
 * Returns the form and the literals of a text and its values; undefined for a long text, for one with comments or double quotes, which can
 * contain values too, and if the values are not those of its parameters. Names of redaction levels, and numbers after LIMIT and OFFSET,
 * stay in the form: they decide what is valid. If the lexer accepts one text of a form, it accepts every text of that form, with the same
 * lexemes except for the literals and parameters.
 */
export function cutLiterals(text: string, values: readonly Literal[]): CutText | undefined {
  if (text.length > MAX_CUT_LENGTH) return undefined
  const literals: Literal[] = []
  const bound: Literal[] = []
  let form = ''
  let kept = 0
  CUTTABLE.lastIndex = 0
  for (let match = CUTTABLE.exec(text); match !== null; match = CUTTABLE.exec(text)) {
    const { 0: written, index: at } = match
    const literal = written.startsWith('$') ? valueAt(values, written, at) : toLiteral(written, at)
    if (literal === undefined) return undefined
    if (literal.parameter !== undefined) bound.push(literal)
    const inForm = textInForm(text, literal)
    if (inForm !== undefined && literal.parameter === undefined) continue
    if (inForm === undefined) literals.push(literal)
    form += text.slice(kept, at) + (inForm ?? MARKS[literal.kind])
    kept = at + written.length
  }
  if (values.length > 0 && !areCuttable(values, bound)) return undefined
  return { form: form + text.slice(kept), literals }
}

/** Returns the value of a parameter in its place; undefined if it has none. */
function valueAt(values: readonly Literal[], written: string, at: number): Literal | undefined {
  const value = values[Number(written.slice(1)) - 1]
  return value === undefined ? undefined : { ...value, at }
}

/** Returns the literal of a match; undefined for any other match. */
function toLiteral(written: string, at: number): Literal | undefined {
  if (written.startsWith("'")) {
    return written.length === 1 ? undefined : { kind: 'text', text: written.slice(1, -1).replaceAll("''", "'"), at }
  }
  return written === '"' || written === '--' || written === '/*' ? undefined : { kind: 'number', text: written, at }
}

/** True if every value is that of a parameter, and the texts in the places of parameters are short. */
function areCuttable(values: readonly Literal[], bound: readonly Literal[]): boolean {
  const length = bound.reduce((sum, value) => sum + (value.kind === 'text' ? value.text.length : 0), 0)
  return length <= MAX_CUT_LENGTH && new Set(bound.map(({ parameter }) => parameter)).size === values.length
}

/** The characters before a number in which LIMIT or OFFSET is looked for. */
const WORD_BEFORE = 16
const AFTER_WINDOW_WORD = /(?:limit|offset)\s+$/i

/** Returns the text of a literal that stays in the form; undefined if it is cut. A parameter is no level, whatever its value is. */
function textInForm(text: string, literal: Literal): string | undefined {
  if (literal.kind === 'text') return literal.parameter === undefined && isLevel(literal) ? literal.text : undefined
  if (literal.kind !== 'number') return undefined
  const before = text.slice(Math.max(0, literal.at - WORD_BEFORE), literal.at)
  return AFTER_WINDOW_WORD.test(before) ? literal.text : undefined
}

const MAX_LEVEL_LENGTH = REDACTIONS.reduce((longest, { length }) => Math.max(longest, length), 0)

/** True for the name of a redaction level. It decides what REDACTION means, so it stays in the form wherever it is written. */
function isLevel({ text }: { readonly text: string }): boolean {
  // Compared with each: looked up as a member, the engine would keep every text.
  return text.length <= MAX_LEVEL_LENGTH && REDACTIONS.includes(text.toUpperCase())
}
