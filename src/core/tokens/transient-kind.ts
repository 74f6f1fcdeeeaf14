/** Transient tokens: pointers to a value that is stored outside its record and expires. */
import type { TokenKind } from './token-kind.ts'
import { NO_DERIVATION } from './token-kind.ts'

export const transientKind: TokenKind = {
  name: 'transient',
  keeps: 'check',
  isDeterministic: false,
  expires: true,
  hasFormat: false,
  ...NO_DERIVATION,
}
