/** Random tokens: pointers at a cell, new with every value, telling nothing about it. */
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
