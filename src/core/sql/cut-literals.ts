/** Cuts the literals out of a query, so that queries which differ only in literals have one form. */
import type { ReplaceableLiteral } from '../expressions/replace-literals.ts'
import { isRedaction } from '../redaction/levels.ts'

/** A literal that was cut out. A number is without its sign, which stays in the form. */
export type CutLiteral = ReplaceableLiteral

/** A query without its literals, and the literals in the order of the text. */
export interface CutText {
  /** The text with a mark in the place of each literal. All else is as written, also blanks. */
  readonly form: string
  readonly literals: readonly CutLiteral[]
}

/** Longest text that is cut. Longer ones are rare, and their forms would fill memory. */
const MAX_CUT_LENGTH = 2048

/** In the place of a literal. The lexer accepts neither of them outside of quotes. */
const TEXT_MARK = '\u0000'
const NUMBER_MARK = '\u0001'

/**
 * A text in quotes, a number as the lexer reads it, or the start of what is not cut: a comment, a name in double quotes, a quote that is not
 * closed. Digits within a word or after a dot or `$` are no number of a valid query.
 */
const CUTTABLE = /'[^']*(?:''[^']*)*'|(?<![A-Za-z0-9_$.])(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![A-Za-z0-9_$.])|["']|--|\/\*/g

/**
 * Returns the form and the literals of a text; undefined for a long text, and for one with comments or double quotes, which can contain
 * values too. Names of redaction levels, and numbers after LIMIT and OFFSET, stay in the form: they decide what is valid. If the lexer
 * accepts one text of a form, it accepts every text of that form, with the same lexemes except for the literals.
 */
export function cutLiterals(text: string): CutText | undefined {
  if (text.length > MAX_CUT_LENGTH) return undefined
  const literals: CutLiteral[] = []
  let form = ''
  let kept = 0
  CUTTABLE.lastIndex = 0
  for (let match = CUTTABLE.exec(text); match !== null; match = CUTTABLE.exec(text)) {
    const { 0: written, index: at } = match
    const literal = toLiteral(written, at)
    if (literal === undefined) return undefined
    if (!isPartOfForm(text, literal)) {
      literals.push(literal)
      form += text.slice(kept, at) + (literal.kind === 'text' ? TEXT_MARK : NUMBER_MARK)
      kept = at + written.length
    }
  }
  return { form: form + text.slice(kept), literals }
}

/** Returns the literal of a match; undefined if it is none. */
function toLiteral(written: string, at: number): CutLiteral | undefined {
  if (written.startsWith("'")) {
    return written.length === 1 ? undefined : { kind: 'text', text: written.slice(1, -1).replaceAll("''", "'"), at }
  }
  return written === '"' || written === '--' || written === '/*' ? undefined : { kind: 'number', text: written, at }
}

/** The characters before a number in which LIMIT or OFFSET is looked for. */
const WORD_BEFORE = 16
const AFTER_WINDOW_WORD = /(?:limit|offset)\s+$/i

function isPartOfForm(text: string, literal: CutLiteral): boolean {
  if (literal.kind === 'text') return isLevel(literal)
  return AFTER_WINDOW_WORD.test(text.slice(Math.max(0, literal.at - WORD_BEFORE), literal.at))
}

/** True for the name of a redaction level, which is no value of a record that anyone protects. */
export function isLevel({ text }: CutLiteral): boolean {
  return isRedaction(text.toUpperCase())
}
