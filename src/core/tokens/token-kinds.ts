/** The kinds whose cells keep something of their token, and the registry of all token kinds. */
import * as z from 'zod'
import { MAX_TTL_MINUTES } from '../limits.ts'
import { deterministicFormatPreservingKind } from './deterministic-format-preserving-kind.ts'
import { deterministicKind } from './deterministic-kind.ts'
import { tokenFormatShape, whenRefusedShape } from './token-formats.ts'
import { NO_DERIVATION, type TokenKind, type TokenKindName } from './token-kind.ts'

/** Random tokens: pointers to a cell. Each value has a new one, which reveals nothing about the value. */
const randomKind: TokenKind<'random'> = {
  name: 'random',
  options: { stable: z.boolean().optional() },
  keeps: 'check',
  isDeterministic: false,
  expires: false,
  hasFormat: false,
  ...NO_DERIVATION,
}

/** Format-preserving tokens: drawn at random in a format. They are stored, because nothing can be computed from them. */
const formatPreservingKind: TokenKind<'formatPreserving'> = {
  name: 'formatPreserving',
  options: { format: tokenFormatShape, stable: z.boolean().optional(), whenRefused: whenRefusedShape },
  keeps: 'text',
  isDeterministic: false,
  expires: false,
  hasFormat: true,
  ...NO_DERIVATION,
}

/** Transient tokens: pointers to a value that is stored outside its record and expires. */
const transientKind: TokenKind<'transient'> = {
  name: 'transient',
  options: { ttlMinutes: z.int().min(1).max(MAX_TTL_MINUTES).optional() },
  keeps: 'check',
  isDeterministic: false,
  expires: true,
  hasFormat: false,
  ...NO_DERIVATION,
}

/** Every token kind by its name in a column definition. */
export const tokenKinds: Readonly<{ [Name in TokenKindName]: TokenKind<Name> }> = {
  random: randomKind,
  deterministic: deterministicKind,
  formatPreserving: formatPreservingKind,
  deterministicFormatPreserving: deterministicFormatPreservingKind,
  transient: transientKind,
}
