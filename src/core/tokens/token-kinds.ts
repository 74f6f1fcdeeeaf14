/** The registry of token kinds. */
import { deterministicFormatPreservingKind } from './deterministic-format-preserving-kind.ts'
import { deterministicKind } from './deterministic-kind.ts'
import { formatPreservingKind } from './format-preserving-kind.ts'
import { randomKind } from './random-kind.ts'
import type { TokenKind, TokenKindName } from './token-kind.ts'
import { transientKind } from './transient-kind.ts'

/** Every token kind by its name in a column definition. */
export const tokenKinds: Readonly<Record<TokenKindName, TokenKind>> = {
  random: randomKind,
  deterministic: deterministicKind,
  formatPreserving: formatPreservingKind,
  deterministicFormatPreserving: deterministicFormatPreservingKind,
  transient: transientKind,
}
