/** Random tokens: pointers to a cell, new with every value, telling nothing about it. */
import type { TokenKind } from './token-kind.ts'

export const randomKind: TokenKind = { name: 'random', pointer: true, stampBytes: 8 }
