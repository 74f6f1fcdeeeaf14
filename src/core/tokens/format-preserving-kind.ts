/** Format-preserving tokens: drawn at random in a format. They are stored, because nothing can be computed from them. */
import { NO_DERIVATION, type TokenKind } from './token-kind.ts'

export const formatPreservingKind: TokenKind = {
  name: 'formatPreserving',
  keeps: 'text',
  isDeterministic: false,
  expires: false,
  hasFormat: true,
  ...NO_DERIVATION,
}
