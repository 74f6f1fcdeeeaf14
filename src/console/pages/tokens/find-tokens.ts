/** Finds what may be tokens in a text, in this tab: only that is sent. */
import type { TableDescription } from '../../app/contract.ts'

/** Tokens that the vault looks up in one call. */
export const MAX_TOKENS = 1000

/** Returns the texts that have the form of a token of some column, each once, in the order of the columns and of the text. */
export function findTokens(text: string, tables: readonly TableDescription[]): readonly string[] {
  const columns = tables.flatMap((table) => table.columns)
  const patterns = new Set(
    columns.flatMap(({ tokenPattern, detokenize }) => (detokenize === 'DENIED' ? [] : (tokenPattern ?? []))),
  )
  const found = new Set<string>()
  for (const pattern of patterns) {
    // A part of a word is no token.
    for (const [one] of text.matchAll(new RegExp(`(?<![\\p{L}\\p{N}])(?:${pattern})(?![\\p{L}\\p{N}])`, 'gu'))) {
      found.add(one)
      // Tokens with single blanks between them look like one that has blanks.
      if (/\s/.test(one)) for (const part of one.split(/\s+/)) if (new RegExp(`^(?:${pattern})$`, 'u').test(part)) found.add(part)
    }
  }
  return [...found]
}
