/** Walks over the lexemes of a text on behalf of a parser: asks, takes, expects, and counts how deep it is. */

import { say } from '../errors.ts'
import { DEEPEST_NESTING } from '../limits.ts'
import { RESERVED_WORDS } from '../schema/names.ts'
import type { Placed } from './ast.ts'
import { foldName, type Lexeme } from './lexeme.ts'
import { lex } from './lexer.ts'
import { TextFault } from './text-fault.ts'
import { unexpected } from './unsupported.ts'

/** A name in lower case, and where it stands. */
export interface PlacedName extends Placed {
  readonly name: string
}

/** A place in a row of lexemes, which only moves forward. */
export class LexemeCursor {
  readonly #lexemes: readonly Lexeme[]
  readonly #end: Lexeme
  #next = 0
  #depth = 0

  /** Throws TextFault where the text cannot be cut into lexemes or is over a limit. */
  constructor(text: string) {
    this.#lexemes = lex(text)
    this.#end = { kind: 'end', text: '', at: text.length }
  }

  /** The lexeme at hand, or one further on; `end` at and after the end. */
  peek(ahead = 0): Lexeme {
    return this.#lexemes[this.#next + ahead] ?? this.#end
  }

  /** How many lexemes are one of these words (in lower case), wherever they stand. */
  count(...words: readonly string[]): number {
    return this.#lexemes.filter(({ kind, text }) => kind === 'word' && words.includes(text)).length
  }

  /** Takes the lexeme at hand, whatever it is. */
  next(): Lexeme {
    const lexeme = this.peek()
    this.#next++
    return lexeme
  }

  /** Whether the lexeme at hand is one of these words (in lower case). */
  atWord(...words: readonly string[]): boolean {
    const { kind, text } = this.peek()
    return kind === 'word' && words.includes(text)
  }

  /** Whether the lexeme at hand is one of these symbols. */
  atSymbol(...symbols: readonly string[]): boolean {
    const { kind, text } = this.peek()
    return kind === 'symbol' && symbols.includes(text)
  }

  /** Whether nothing is left. */
  atEnd(): boolean {
    return this.peek().kind === 'end'
  }

  /** Whether a name stands here: a word that is not reserved, or anything in double quotes. */
  atName(): boolean {
    const { kind, text } = this.peek()
    return kind === 'quoted' || (kind === 'word' && !RESERVED_WORDS.has(text))
  }

  /** Takes this word if it is at hand. */
  takeWord(word: string): boolean {
    const isHere = this.atWord(word)
    if (isHere) this.#next++
    return isHere
  }

  /** Takes this symbol if it is at hand. */
  takeSymbol(symbol: string): boolean {
    const isHere = this.atSymbol(symbol)
    if (isHere) this.#next++
    return isHere
  }

  /** Takes this word or throws; answers where it stood. */
  expectWord(word: string): number {
    if (!this.atWord(word)) throw this.fault(word.toUpperCase())
    return this.next().at
  }

  /** Takes this symbol or throws; answers where it stood. */
  expectSymbol(symbol: string): number {
    if (!this.atSymbol(symbol)) throw this.fault(symbol)
    return this.next().at
  }

  /** Takes a name or throws. `expected` follows "Expected ", as in "a table name". */
  expectName(expected: string): PlacedName {
    if (!this.atName()) throw this.fault(expected)
    const { text, at } = this.next()
    if (text === '') throw new TextFault('syntax', say`This name is empty.`, at)
    return { name: foldName(text), at }
  }

  /** The fault of the lexeme at hand: a construct outside the language by its name, else that this was expected. */
  fault(expected: string): TextFault {
    return unexpected(this.peek(), expected)
  }

  /** Does the work one level deeper; refuses to go too deep, so that neither parser nor those who walk the tree run out of stack. */
  nested<Result>(at: number, work: () => Result): Result {
    if (this.#depth === DEEPEST_NESTING) throw new TextFault('limit', say`This nests deeper than ${DEEPEST_NESTING} levels.`, at)
    this.#depth++
    const result = work()
    this.#depth--
    return result
  }
}
