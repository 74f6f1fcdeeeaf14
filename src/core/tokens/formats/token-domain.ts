/** Token domains: numbered sets of texts, with the text of a number and the number of a text. */
import { at } from '../../util/at.ts'
import type { TokenRange } from '../token-format.ts'

/** A set of different texts, numbered from 0 to `size` - 1. */
export interface TokenDomain {
  readonly size: bigint
  /** Returns the text of a number from 0 to `size` - 1. */
  textAt(rank: bigint): string
  /** Returns the number of a text; undefined if it is not in the set. */
  rankOf(text: string): bigint | undefined
}

/** One position of a text: the characters it can have, all different. A slot of one character is fixed. */
export type Slot = string

/** Neighboring slots `from .. to)` with `size` texts, a safe integer: they are computed without big integers. */
interface Group {
  readonly from: number
  readonly to: number
  readonly size: number
}

/** Returns all texts with one character of each slot, in dictionary order of the slots. */
export function slotDomain(slots: readonly Slot[]): TokenDomain {
  const groups = grouped(slots)
  const sizes = groups.map(({ size }) => BigInt(size))
  return {
    size: sizes.reduce((product, size) => product * size, 1n),
    textAt(rank) {
      const units: string[] = new Array(slots.length)
      let rest = rank
      for (let i = groups.length - 1; i >= 0; i--) {
        const size = at(sizes, i)
        writeGroup(slots, at(groups, i), i === 0 ? Number(rest) : Number(rest % size), units)
        rest /= size
      }
      return units.join('')
    },
    rankOf(text) {
      if (text.length !== slots.length) return undefined
      let rank = 0n
      for (let i = 0; i < groups.length; i++) {
        const part = readGroup(slots, at(groups, i), text)
        if (part === undefined) return undefined
        rank = rank * at(sizes, i) + BigInt(part)
      }
      return rank
    },
  }
}

/** Returns the texts of a set without the value itself, renumbered from 0. */
export function excluding(domain: TokenDomain, value: string): TokenRange {
  const own = domain.rankOf(value)
  if (own === undefined) return { domain: domain.size, tokenAt: (rank) => domain.textAt(rank) }
  return { domain: domain.size - 1n, tokenAt: (rank) => domain.textAt(rank < own ? rank : rank + 1n) }
}

function grouped(slots: readonly Slot[]): Group[] {
  const groups: Group[] = []
  let from = 0
  let size = 1
  for (const [index, { length }] of slots.entries()) {
    const grown = size * length
    if (grown > Number.MAX_SAFE_INTEGER) {
      groups.push({ from, to: index, size })
      from = index
      size = length
    } else size = grown
  }
  groups.push({ from, to: slots.length, size })
  return groups
}

function writeGroup(slots: readonly Slot[], { from, to }: Group, number: number, units: string[]): void {
  let rest = number
  for (let i = to - 1; i >= from; i--) {
    const slot = at(slots, i)
    units[i] = slot.charAt(rest % slot.length)
    rest = Math.floor(rest / slot.length)
  }
}

function readGroup(slots: readonly Slot[], { from, to }: Group, text: string): number | undefined {
  let number = 0
  for (let i = from; i < to; i++) {
    const slot = at(slots, i)
    const index = slot.indexOf(text.charAt(i))
    if (index < 0) return undefined
    number = number * slot.length + index
  }
  return number
}
