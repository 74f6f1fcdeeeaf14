/** Cuts a text of the vault's small languages into lexemes, in time linear to its length. */
import { say } from '../errors.ts'
import { LONGEST_QUERY_TEXT, MOST_LEXEMES } from '../limits.ts'
import { foldName, type Lexeme, type LexemeKind } from './lexeme.ts'
import { TextFault } from './text-fault.ts'

/** The lexemes of a text, closed by `end`. Blanks and comments are gone. Throws TextFault. */
export function lex(text: string): readonly Lexeme[] {
  if (text.length > LONGEST_QUERY_TEXT)
    throw new TextFault('limit', say`The text is longer than ${LONGEST_QUERY_TEXT} characters.`, 0)
  const cursor = new TextCursor(text)
  const lexemes: Lexeme[] = []
  for (;;) {
    const lexeme = cursor.next()
    lexemes.push(lexeme)
    if (lexeme.kind === 'end') return lexemes
    if (lexemes.length > MOST_LEXEMES) {
      throw new TextFault('limit', say`The text has more than ${MOST_LEXEMES} words, values and signs.`, lexeme.at)
    }
  }
}

const WORD = /[A-Za-z_][A-Za-z0-9_]*/y
const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y
const NUMBER_CONTINUES = /[A-Za-z0-9_$]/
const BLANKS = /[ \t\n\r\f\v]+/y
const LINE_COMMENT = /--[^\n\r]*/y
const COMMENT_EDGE = /\/\*|\*\//g
const PUNCTUATION = /::|:=|[()[\],.;:$]/y
/** As PostgreSQL has it, a row of these signs is one operator, so that `a <> b` is never `a < (> b)`. */
const OPERATOR = /[~!@#^&|`?+\-*/%<>=]+/y
/** With one of these in it an operator may end in `+` or `-`; otherwise those are signs of what follows. */
const UNCOMMON_SIGN = /[~!@#%^&|`?]/

/** Walks over a text once. */
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
    const symbol = this.#take(PUNCTUATION) ?? this.#operator()
    if (symbol === undefined) throw new TextFault('syntax', say`Unexpected character.`, at)
    return { kind: 'symbol', text: symbol, at }
  }

  /** What the pattern matches here, which is then behind the cursor. */
  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const taken = pattern.exec(this.#text)?.[0]
    if (taken !== undefined) this.#at += taken.length
    return taken
  }

  #skipBlanks(): void {
    while (this.#take(BLANKS) !== undefined || this.#take(LINE_COMMENT) !== undefined || this.#skipComment()) {
      // Each turn takes one run of blanks or one comment.
    }
  }

  /** Comments nest, as in PostgreSQL; they are counted, so that no depth of them costs a stack. */
  #skipComment(): boolean {
    if (!this.#text.startsWith('/*', this.#at)) return false
    COMMENT_EDGE.lastIndex = this.#at
    for (let open = 0; ; ) {
      const edge = COMMENT_EDGE.exec(this.#text)?.[0]
      if (edge === undefined) throw new TextFault('syntax', say`This comment is not closed. Close it with */.`, this.#at)
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
    if (close < 0) throw new TextFault('syntax', say`This quote is not closed.`, at)
    this.#at = close + 1
    return { kind, text: this.#text.slice(at + 1, close).replaceAll(quote + quote, quote), at }
  }

  #number(text: string, at: number): Lexeme {
    if (NUMBER_CONTINUES.test(this.#text[this.#at] ?? '')) throw new TextFault('syntax', say`Invalid number.`, at)
    return { kind: 'number', text, at }
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

/** An operator without the signs of the number after it: `=-` of `a =-1` is `=`. */
function withoutSigns(operator: string): string {
  if (UNCOMMON_SIGN.test(operator)) return operator
  let end = operator.length
  while (end > 1 && (operator[end - 1] === '-' || operator[end - 1] === '+')) end--
  return operator.slice(0, end)
}
