/** The registry of token kinds: what can stand in for a value. */
import { randomKind } from './random-kind.ts'
import type { TokenKind, TokenKindName } from './token-kind.ts'

export type { TokenKindName }

/** Every kind by its name in a column's definition. */
export const tokenKinds: Readonly<Record<TokenKindName, TokenKind>> = { random: randomKind }
