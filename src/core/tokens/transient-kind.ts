/** Transient tokens: pointers to a value that is stored outside its record and expires. */
import type { TokenKind } from './token-kind.ts'
import { NOT_DERIVED } from './token-kind.ts'

export const transientKind: TokenKind = {
  name: 'transient',
  keeps: 'stamp',
  isDeterministic: false,
  expires: true,
  hasFormat: false,
  ...NOT_DERIVED,
}
