/** Reads the lexemes of a text for a parser, and limits the nesting depth. */

import { say } from '../errors.ts'
import { QUERY_LIMITS, type QueryLimits } from '../limits.ts'
import { RESERVED_WORDS } from '../schema/names.ts'
import type { Parameter, Placed } from './ast.ts'
import { LanguageError } from './language-error.ts'
import { foldName, type Lexeme, lex } from './lexer.ts'
import { withoutValue } from './parameter-values.ts'
import { unexpectedLexeme } from './unsupported.ts'

/** A name in lower case and its offset. */
export interface PlacedName extends Placed {
  readonly name: string
}

/** What a language has beside what all have. */
interface Language {
  /** Whether there are parameters. Default false. */
  readonly hasParameters?: boolean
  /** Whether the extensions of queries are on. Default false: the conditions of policies are those of the specification. */
  readonly isExtended?: boolean
}

/** A position in a list of lexemes. It only moves forward. */
export class LexemeCursor {
  /** True if the extensions of queries are on. */
  readonly isExtended: boolean
  readonly #lexemes: readonly Lexeme[]
  readonly #end: Lexeme
  readonly #limits: QueryLimits
  readonly #hasParameters: boolean
  #next = 0
  #depth = 0

  /** Throws `LanguageError` if the text has invalid lexemes or is above a limit. */
  constructor(text: string, limits: QueryLimits = QUERY_LIMITS, { hasParameters = false, isExtended = false }: Language = {}) {
    this.#lexemes = lex(text, limits)
    this.#limits = limits
    this.#end = { kind: 'end', text: '', at: text.length }
    this.#hasParameters = hasParameters
    this.isExtended = isExtended
  }

  /** Returns the current lexeme, or one `ahead` of it. Returns `end` at and after the end. */
  peek(ahead = 0): Lexeme {
    return this.#lexemes[this.#next + ahead] ?? this.#end
  }

  /** Counts the lexemes of the whole text that are one of these words, given in lower case. */
  count(...words: readonly string[]): number {
    return this.#lexemes.filter(({ kind, text }) => kind === 'word' && words.includes(text)).length
  }

  /** Returns the current lexeme and moves past it. */
  next(): Lexeme {
    const lexeme = this.peek()
    this.#next++
    return lexeme
  }

  /** True if the current lexeme is one of these words, given in lower case. */
  atWord(...words: readonly string[]): boolean {
    const { kind, text } = this.peek()
    return kind === 'word' && words.includes(text)
  }

  /** True if the current lexeme is one of these symbols. */
  atSymbol(...symbols: readonly string[]): boolean {
    const { kind, text } = this.peek()
    return kind === 'symbol' && symbols.includes(text)
  }

  /** True at the end of the text. */
  atEnd(): boolean {
    return this.peek().kind === 'end'
  }

  /** True if the current lexeme is a name: a word that is not reserved, or anything in double quotes. */
  atName(): boolean {
    const { kind, text } = this.peek()
    return kind === 'quoted' || (kind === 'word' && !RESERVED_WORDS.has(text))
  }

  /** Moves past this word if it is the current lexeme. Returns whether it was. */
  takeWord(word: string): boolean {
    const isHere = this.atWord(word)
    if (isHere) this.#next++
    return isHere
  }

  /** Moves past this symbol if it is the current lexeme. Returns whether it was. */
  takeSymbol(symbol: string): boolean {
    const isHere = this.atSymbol(symbol)
    if (isHere) this.#next++
    return isHere
  }

  /** Moves past a parameter and returns it; undefined if the current lexeme is another one. Throws `LanguageError` for one that no value can have. */
  takeParameter(): Parameter | undefined {
    const { kind, text, at } = this.peek()
    if (kind !== 'parameter' || !this.#hasParameters) return undefined
    const number = Number(text)
    if (number === 0) throw new LanguageError('syntax', say`Parameters are numbered from 1.`, at)
    if (number > this.#limits.maxQueryLexemes) throw withoutValue(at)
    this.#next++
    return { kind, number, at }
  }

  /** Moves past this word and returns its offset. Throws `LanguageError` for any other lexeme. */
  expectWord(word: string): number {
    if (!this.atWord(word)) throw this.unexpected(word.toUpperCase())
    return this.next().at
  }

  /** Moves past this symbol and returns its offset. Throws `LanguageError` for any other lexeme. */
  expectSymbol(symbol: string): number {
    if (!this.atSymbol(symbol)) throw this.unexpected(symbol)
    return this.next().at
  }

  /** Moves past a name and returns it. Throws `LanguageError` for any other lexeme. `expected` follows "Expected ", as in "a table name". */
  expectName(expected: string): PlacedName {
    if (!this.atName()) throw this.unexpected(expected)
    const { text, at } = this.next()
    if (text === '') throw new LanguageError('syntax', say`This name is empty.`, at)
    return { name: foldName(text), at }
  }

  /** The error for the current lexeme: an unsupported construct by its name, otherwise what was expected. */
  unexpected(expected: string): LanguageError {
    return unexpectedLexeme(this.peek(), expected, this)
  }

  /** Runs `work` one nesting level deeper. Throws `LanguageError` above the limit, so that no recursive function overflows the stack. */
  nested<Result>(at: number, work: () => Result): Result {
    if (this.#depth === this.#limits.maxQueryNesting)
      throw new LanguageError('limit', say`This nests deeper than ${this.#limits.maxQueryNesting} levels.`, at)
    this.#depth++
    const result = work()
    this.#depth--
    return result
  }
}
