/** A permutation of any domain of at least a million: FF1 of radix 10, walked along its cycle until it falls into the domain. */

import { hash } from 'node:crypto'
import { VaultError } from '../../core/errors.ts'
import type { Rank } from '../../core/ports/keys.ts'
import { at } from '../../core/util/at.ts'
import { type BlockCipher, createBlockCipher } from './block-cipher.ts'
import { createFf1, type Ff1 } from './ff1.ts'

/** The smallest domain FF1 may have. Source: SP 800-38G revision 1, section 5.1. */
const MIN_DOMAIN = 1_000_000n
const TWEAK_BYTES = 8
/** Lengths whose frames are kept; others are made anew each time. */
const MAX_REMEMBERED = 64

/** The permutations under one key, and their inverses; lists in, lists out, same order. */
export interface RankCipher {
  encipher(ranks: readonly Rank[]): bigint[]
  decipher(ranks: readonly Rank[]): bigint[]
}

/** Permutations under a 32-byte key, one for each domain and context. */
export function createRankCipher(key: Uint8Array, vaultId: string): RankCipher {
  const cipher = createBlockCipher(key)
  const lengths = new Map<number, Ff1>()
  const permute = (ranks: readonly Rank[], direction: 'encrypt' | 'decrypt'): bigint[] => {
    const out: bigint[] = new Array(ranks.length)
    for (const [length, places] of byLength(ranks)) {
      const ff1 = rememberedLength(lengths, cipher, length)
      const items = places.map((place) => {
        const rank = at(ranks, place)
        return { place, domain: rank.domain, value: rank.value, tweak: rankTweak(rank, vaultId) }
      })
      walk(items, (values, tweaks) => ff1[direction](values, tweaks), out)
    }
    return out
  }
  return {
    encipher: (ranks) => permute(ranks, 'encrypt'),
    decipher: (ranks) => permute(ranks, 'decrypt'),
  }
}

/** The tweak: domain, vault and context, each told apart by its length or its place. Bound to the vault although the key is its own. */
export function rankTweak({ domain, tweakText = '' }: Rank, vaultId: string): Uint8Array {
  const text = `strongroom/v1/rank-tweak/${domain}/${vaultId.length}/${vaultId}/${tweakText}`
  return Uint8Array.from(Buffer.from(hash('sha256', text, 'hex').slice(0, TWEAK_BYTES * 2), 'hex'))
}

interface Item {
  readonly place: number
  readonly domain: bigint
  readonly tweak: Uint8Array
  value: bigint
}

/**
 * Cycle-walking: a number that falls outside its domain is moved again. The walk ends, for it comes back to where it began, which
 * is inside; it takes ten steps on average at most, where the domain is a little above a power of ten.
 */
function walk(items: readonly Item[], step: (values: readonly bigint[], tweaks: Uint8Array) => bigint[], out: bigint[]): void {
  let walking = items
  while (walking.length > 0) {
    const tweaks = new Uint8Array(walking.length * TWEAK_BYTES)
    for (const [i, { tweak }] of walking.entries()) tweaks.set(tweak, i * TWEAK_BYTES)
    const moved = step(
      walking.map(({ value }) => value),
      tweaks,
    )
    for (const [i, item] of walking.entries()) {
      item.value = at(moved, i)
      out[item.place] = item.value
    }
    walking = walking.filter(({ value, domain }) => value >= domain)
  }
}

/** Places of the list by the number of digits of the largest number of the domain. */
function byLength(ranks: readonly Rank[]): Map<number, number[]> {
  const groups = new Map<number, number[]>()
  for (const [place, { value, domain }] of ranks.entries()) {
    if (domain < MIN_DOMAIN) throw new VaultError('internal', `A domain for format-preserving encryption is below ${MIN_DOMAIN}.`)
    if (value < 0n || value >= domain)
      throw new VaultError('internal', 'A rank for format-preserving encryption is outside its domain.')
    const length = (domain - 1n).toString().length
    const group = groups.get(length)
    if (group === undefined) groups.set(length, [place])
    else group.push(place)
  }
  return groups
}

function rememberedLength(lengths: Map<number, Ff1>, cipher: BlockCipher, length: number): Ff1 {
  const known = lengths.get(length)
  if (known !== undefined) return known
  const made = createFf1(cipher, { radix: 10, length, tweakBytes: TWEAK_BYTES })
  if (lengths.size < MAX_REMEMBERED) lengths.set(length, made)
  return made
}
