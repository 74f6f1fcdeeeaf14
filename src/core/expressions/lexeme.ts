/** The pieces in which the vault's small languages are read. */
import type { Placed } from './ast.ts'

/**
 * One piece of text. A word is in lower case; the text of a quoted one is without its quotes; a number is unsigned, as spelled;
 * an operator of several characters is one symbol. Every list of lexemes closes with `end`.
 */
export type Lexeme = Placed & {
  readonly kind: LexemeKind
  readonly text: string
}

/** `text` stood in '…'; `quoted` stood in "…" and is a name or a text, as its place says. */
export type LexemeKind = 'word' | 'quoted' | 'text' | 'number' | 'symbol' | 'end'

/** A name as it is compared: A to Z in lower case, all else as it stands. */
export function foldName(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
