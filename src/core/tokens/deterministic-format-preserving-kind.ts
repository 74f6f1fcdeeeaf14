/** Deterministic format-preserving tokens: the characters of the value encrypted by FF1 with the key of the scope. Nothing is stored. */
import { at } from '../util/lists.ts'
import { decryptDeranged, encryptDeranged, type Permutation } from './derangement.ts'
import { type DeterministicFormat, type RankedValue, TokenFormatError } from './token-format.ts'
import { tokenFormatShape, whenRefusedShape } from './token-formats.ts'
import type { Derivation, TokenKind } from './token-kind.ts'

export const deterministicFormatPreservingKind: TokenKind<'deterministicFormatPreserving'> = {
  name: 'deterministicFormatPreserving',
  options: { format: tokenFormatShape, whenRefused: whenRefusedShape },
  keeps: 'nothing',
  isDeterministic: true,
  expires: false,
  hasFormat: true,
  formatProblem: (format) =>
    format.deterministic === undefined ? 'must have a format whose tokens can be turned back into values' : undefined,
  assertValue(format, shown) {
    format?.deterministic?.rankOf(shown)
  },
  derive(from, values) {
    const format = from.format?.deterministic
    if (format === undefined) return []
    const ranked = values.texts().map((text) => rankOrNone(format, text))
    const encrypted = encryptDeranged(
      permutationOf(from),
      ranked.filter((value) => value !== undefined),
    )
    let next = 0
    return ranked.map((value) => value?.tokenAt(at(encrypted, next++)))
  },
  recover(from, texts) {
    const ranked = texts.map((text) => from.format?.deterministic?.rankOfToken(text))
    const decrypted = decryptDeranged(
      permutationOf(from),
      ranked.filter((token) => token !== undefined),
    )
    let next = 0
    return ranked.map((token) =>
      token === undefined ? undefined : { kind: 'text', shown: token.valueAt(at(decrypted, next++)) },
    )
  },
}

/** Returns a value as a rank; undefined for one that the format refuses. */
function rankOrNone(format: DeterministicFormat, text: string): RankedValue | undefined {
  try {
    return format.rankOf(text)
  } catch (error) {
    if (error instanceof TokenFormatError) return undefined
    throw error
  }
}

/** Returns the permutations of the key ring for this scope. */
function permutationOf({ ring, version, scope }: Derivation): Permutation {
  return {
    encrypt: (ranks) => ring.encryptRanks(version, scope, ranks),
    decrypt: (ranks) => ring.decryptRanks(version, scope, ranks),
  }
}
