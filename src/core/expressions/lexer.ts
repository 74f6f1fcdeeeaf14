/** The lexemes of queries, policy statements and conditions, and the lexer, which splits a text into them in linear time. */
import { say } from '../errors.ts'
import { QUERY_LIMITS, type QueryLimits } from '../limits.ts'
import type { Placed } from './ast.ts'
import { LanguageError } from './language-error.ts'

/** Returns the lexemes of a text, ended by `end`, without blanks and comments. Throws `LanguageError`. */
export function lex(text: string, { maxQueryLength, maxQueryLexemes }: QueryLimits = QUERY_LIMITS): readonly Lexeme[] {
  if (text.length > maxQueryLength)
    throw new LanguageError('limit', say`The text is longer than ${maxQueryLength} characters.`, 0)
  const cursor = new TextCursor(text)
  const lexemes: Lexeme[] = []
  for (;;) {
    const lexeme = cursor.next()
    lexemes.push(lexeme)
    if (lexeme.kind === 'end') return lexemes
    if (lexemes.length > maxQueryLexemes) {
      throw new LanguageError('limit', say`The text has more than ${maxQueryLexemes} words, values and signs.`, lexeme.at)
    }
  }
}

const WORD = /[A-Za-z_][A-Za-z0-9_]*/y
const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y
const NUMBER_CONTINUES = /[A-Za-z0-9_$]/
const PARAMETER = /\$\d+/y
const BLANKS = /[ \t\n\r\f\v]+/y
const LINE_COMMENT = /--[^\n\r]*/y
const COMMENT_EDGE = /\/\*|\*\//g
const PUNCTUATION = /::|:=|[()[\],.;:$]/y
/** A sequence of these characters is one operator, as in PostgreSQL. So `a <> b` never reads as `a < (> b)`. */
const OPERATOR = /[~!@#^&|`?+\-*/%<>=]+/y
/** An operator with one of these characters can end in `+` or `-`. Otherwise a final `+` or `-` is the sign of the next operand. */
const UNCOMMON_SIGN = /[~!@#%^&|`?]/

/** Reads a text once, from start to end. */
class TextCursor {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  next(): Lexeme {
    this.#skipBlanks()
    const at = this.#at
    const first = this.#text[at]
    if (first === undefined) return { kind: 'end', text: '', at }
    if (first === "'") return this.#quoted('text', first)
    if (first === '"') return this.#quoted('quoted', first)
    const word = this.#take(WORD)
    if (word !== undefined) return { kind: 'word', text: foldName(word), at }
    const number = this.#take(NUMBER)
    if (number !== undefined) return this.#number(number, at)
    const parameter = this.#parameter(at)
    if (parameter !== undefined) return parameter
    const symbol = this.#take(PUNCTUATION) ?? this.#operator()
    if (symbol === undefined) throw new LanguageError('syntax', say`Unexpected character.`, at)
    return { kind: 'symbol', text: symbol, at }
  }

  /** Matches the pattern at the cursor and moves past the match. Returns the matched text, or undefined. */
  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const taken = pattern.exec(this.#text)?.[0]
    if (taken !== undefined) this.#at += taken.length
    return taken
  }

  #skipBlanks(): void {
    while (this.#take(BLANKS) !== undefined || this.#take(LINE_COMMENT) !== undefined || this.#skipComment()) {
      // Each iteration skips one run of blanks or one comment.
    }
  }

  /** Skips a comment. Comments nest, as in PostgreSQL. A counter replaces recursion, so depth uses no stack. */
  #skipComment(): boolean {
    if (!this.#text.startsWith('/*', this.#at)) return false
    COMMENT_EDGE.lastIndex = this.#at
    for (let open = 0; ; ) {
      const edge = COMMENT_EDGE.exec(this.#text)?.[0]
      if (edge === undefined) throw new LanguageError('syntax', say`This comment is not closed. Close it with */.`, this.#at)
      open += edge === '/*' ? 1 : -1
      if (open === 0) break
    }
    this.#at = COMMENT_EDGE.lastIndex
    return true
  }

  #quoted(kind: LexemeKind, quote: string): Lexeme {
    const at = this.#at
    let close = this.#text.indexOf(quote, at + 1)
    while (close >= 0 && this.#text[close + 1] === quote) close = this.#text.indexOf(quote, close + 2)
    if (close < 0) throw new LanguageError('syntax', say`This quote is not closed.`, at)
    this.#at = close + 1
    return { kind, text: this.#text.slice(at + 1, close).replaceAll(quote + quote, quote), at }
  }

  #number(text: string, at: number): Lexeme {
    if (NUMBER_CONTINUES.test(this.#text[this.#at] ?? '')) throw new LanguageError('syntax', say`Invalid number.`, at)
    return { kind: 'number', text, at }
  }

  /** A `$` directly behind a word is a part of a name in PostgreSQL, and no parameter. */
  #parameter(at: number): Lexeme | undefined {
    if (NUMBER_CONTINUES.test(this.#text[at - 1] ?? '')) return undefined
    const parameter = this.#take(PARAMETER)
    if (parameter === undefined) return undefined
    if (NUMBER_CONTINUES.test(this.#text[this.#at] ?? '')) throw new LanguageError('syntax', say`Invalid parameter.`, at)
    return { kind: 'parameter', text: parameter.slice(1), at }
  }

  #operator(): string | undefined {
    const from = this.#at
    const signs = this.#take(OPERATOR)
    if (signs === undefined) return undefined
    const comment = signs.search(/--|\/\*/)
    const operator = withoutSigns(comment < 0 ? signs : signs.slice(0, comment))
    this.#at = from + operator.length
    return operator
  }
}

/** Removes the sign of the following number from an operator: `=-` in `a =-1` becomes `=`. */
function withoutSigns(operator: string): string {
  if (UNCOMMON_SIGN.test(operator)) return operator
  let end = operator.length
  while (end > 1 && (operator[end - 1] === '-' || operator[end - 1] === '+')) end--
  return operator.slice(0, end)
}

/**
 * One lexeme. A word is in lower case. The text of a string or quoted name is without its quotes. A number is unsigned, as spelled, and a
 * parameter is its digits. An operator of several characters is one symbol. Every list of lexemes ends with `end`.
 */
export type Lexeme = Placed & {
  readonly kind: LexemeKind
  readonly text: string
}

/** `text` was in single quotes. `quoted` was in double quotes: its position decides whether it is a name or a string. */
export type LexemeKind = 'word' | 'quoted' | 'text' | 'number' | 'parameter' | 'symbol' | 'end'

/** Folds a name for comparison: A to Z become lower case, other characters are unchanged. */
export function foldName(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
