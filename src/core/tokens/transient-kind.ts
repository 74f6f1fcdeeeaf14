/** Transient tokens: pointers to a value that is stored outside its record and expires. */
import { NO_DERIVATION, type TokenKind } from './token-kind.ts'

export const transientKind: TokenKind = {
  name: 'transient',
  keeps: 'check',
  isDeterministic: false,
  expires: true,
  hasFormat: false,
  ...NO_DERIVATION,
}
