/** Encrypts ranks within domains of at least 10^6, by FF1 with radix 10 and cycle walking. */
import { hash } from 'node:crypto'
import { VaultError } from '../../core/errors.ts'
import type { Rank } from '../../core/ports/crypto.ts'
import { at, required } from '../../core/util/lists.ts'
import { createFf1, type Ff1 } from './ff1.ts'
import type { InPlaceCipher } from './platform/aes.ts'

/** Minimum domain size of FF1. Source: SP 800-38G revision 1, section 5.1. */
const MIN_DOMAIN = 1_000_000n
const TWEAK_BYTES = 8
/** Maximum number of lengths whose FF1 setup is cached. */
const MAX_REMEMBERED = 64

/** The permutations of one key, and their inverses. Results are in the order of the ranks. Throws `internal` for a domain below 10^6 or a value outside it. */
export interface RankCipher {
  encrypt(ranks: readonly Rank[]): bigint[]
  decrypt(ranks: readonly Rank[]): bigint[]
  /** Wipes the key. Later calls throw. */
  close(): void
}

/** Returns the rank cipher of a block cipher, which it closes. Each domain and tweak text has its own permutation. */
export function createRankCipher(cipher: InPlaceCipher, vaultId: string): RankCipher {
  const lengths = new Map<number, Ff1>()
  const permute = (ranks: readonly Rank[], direction: 'encrypt' | 'decrypt'): bigint[] => {
    const out: bigint[] = new Array(ranks.length)
    const tweakOf = rememberingTweaks(vaultId)
    for (const [length, indexes] of byLength(ranks)) {
      const ff1 = ff1OfLength(lengths, cipher, length)
      const items = indexes.map((index) => {
        const rank = at(ranks, index)
        return { index, domain: rank.domain, value: rank.value, tweak: tweakOf(rank) }
      })
      walk(items, (values, tweaks) => ff1[direction](values, tweaks), out)
    }
    return out
  }
  return {
    encrypt: (ranks) => permute(ranks, 'encrypt'),
    decrypt: (ranks) => permute(ranks, 'decrypt'),
    close() {
      cipher.close()
      for (const ff1 of lengths.values()) ff1.close()
      lengths.clear()
    },
  }
}

/** Returns the tweak of a rank, 8 bytes: a hash of domain, vault id and tweak text, which a length keeps apart. It binds the rank to the vault in addition to the key. */
export function rankTweak({ domain, tweakText = '' }: Rank, vaultId: string): Uint8Array {
  const text = `strongroom/v1/rank-tweak/${domain}/${vaultId.length}/${vaultId}/${tweakText}`
  return Uint8Array.from(Buffer.from(hash('sha256', text, 'hex').slice(0, TWEAK_BYTES * 2), 'hex'))
}

/** Returns `rankTweak` for the ranks of one call. It remembers the last tweak: neighbors mostly share their domain and tweak text. */
function rememberingTweaks(vaultId: string): (rank: Rank) => Uint8Array {
  let last: { readonly rank: Rank; readonly tweak: Uint8Array } | undefined
  return (rank) => {
    const isSame = last !== undefined && last.rank.domain === rank.domain && last.rank.tweakText === rank.tweakText
    if (last === undefined || !isSame) last = { rank, tweak: rankTweak(rank, vaultId) }
    return last.tweak
  }
}

interface Item {
  /** Index in the list of ranks. */
  readonly index: number
  readonly domain: bigint
  readonly tweak: Uint8Array
  value: bigint
}

/**
 * Cycle walking: permutes each number until it is inside its domain. The walk ends, because a cycle returns to its start, which is
 * inside. It takes at most ten steps on average, for a domain just above a power of ten.
 */
function walk(items: readonly Item[], step: (values: readonly bigint[], tweaks: Uint8Array) => bigint[], out: bigint[]): void {
  let walking = items
  while (walking.length > 0) {
    const tweaks = new Uint8Array(walking.length * TWEAK_BYTES)
    for (let i = 0; i < walking.length; i++) {
      const { tweak } = required(walking[i])
      for (let k = 0; k < TWEAK_BYTES; k++) tweaks[i * TWEAK_BYTES + k] = required(tweak[k])
    }
    const moved = step(
      walking.map(({ value }) => value),
      tweaks,
    )
    let isDone = true
    for (let i = 0; i < walking.length; i++) {
      const item = required(walking[i])
      item.value = required(moved[i])
      out[item.index] = item.value
      if (item.value >= item.domain) isDone = false
    }
    if (isDone) return
    walking = walking.filter(({ value, domain }) => value >= domain)
  }
}

/** Returns the indexes of the ranks by the number of digits of the largest number in the domain. */
function byLength(ranks: readonly Rank[]): Map<number, number[]> {
  const groups = new Map<number, number[]>()
  let last = 0n
  let length = 0
  for (const [index, { value, domain }] of ranks.entries()) {
    if (domain < MIN_DOMAIN) throw new VaultError('internal', `A domain for format-preserving encryption is below ${MIN_DOMAIN}.`)
    if (value < 0n || value >= domain)
      throw new VaultError('internal', 'A rank for format-preserving encryption is outside its domain.')
    if (domain !== last) length = (domain - 1n).toString().length
    last = domain
    const group = groups.get(length)
    if (group === undefined) groups.set(length, [index])
    else group.push(index)
  }
  return groups
}

function ff1OfLength(lengths: Map<number, Ff1>, cipher: InPlaceCipher, length: number): Ff1 {
  const known = lengths.get(length)
  if (known !== undefined) return known
  const created = createFf1(cipher, { radix: 10, length, tweakBytes: TWEAK_BYTES })
  if (lengths.size < MAX_REMEMBERED) lengths.set(length, created)
  return created
}
