/** The lexemes of queries, policy statements and conditions. */
import type { Placed } from './ast.ts'

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
