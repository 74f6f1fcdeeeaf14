/** Random tokens: pointers to a cell. Each value has a new one, which reveals nothing about the value. */
import { NO_DERIVATION, type TokenKind } from './token-kind.ts'

export const randomKind: TokenKind = {
  name: 'random',
  keeps: 'check',
  isDeterministic: false,
  expires: false,
  hasFormat: false,
  ...NO_DERIVATION,
}
