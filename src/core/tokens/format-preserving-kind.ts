/** Format-preserving tokens: drawn at random in the form of the value, and remembered, for nothing in them leads back. */
import type { TokenKind } from './token-kind.ts'
import { NOT_DERIVED } from './token-kind.ts'

export const formatPreservingKind: TokenKind = {
  name: 'formatPreserving',
  keeps: 'text',
  isDeterministic: false,
  expires: false,
  hasFormat: true,
  ...NOT_DERIVED,
}
