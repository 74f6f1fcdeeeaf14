/** Random tokens: pointers to a cell. Each value has a new one, which reveals nothing about the value. */
import type { TokenKind } from './token-kind.ts'
import { NOT_DERIVED } from './token-kind.ts'

export const randomKind: TokenKind = {
  name: 'random',
  keeps: 'stamp',
  isDeterministic: false,
  expires: false,
  hasFormat: false,
  ...NOT_DERIVED,
}
