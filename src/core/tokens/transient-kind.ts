/** Transient tokens: pointers at a value that lives apart from its record, and only for a while. */
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
