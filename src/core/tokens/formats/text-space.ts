/** Sets of texts that are numbered: the n-th text of a set, and the number of a text in it. */
import type { TokenShape } from '../token-format.ts'

/** Texts numbered from 0 to `domain` - 1, each once. */
export interface TextSpace {
  readonly domain: bigint
  textAt(rank: bigint): string
  /** Undefined for a text that is not in the set. */
  rankOf(text: string): bigint | undefined
}

/** One place of a text: the characters that may stand there, all different. A place of one character is fixed. */
export type Slot = string

/** Neighbouring slots whose numbers are computed without big integers. */
interface Group {
  readonly from: number
  readonly to: number
  readonly size: number
}

/** Every text that has one character of each slot, in dictionary order of the slots. */
export function slotSpace(slots: readonly Slot[]): TextSpace {
  const groups = grouped(slots)
  const sizes = groups.map(({ size }) => BigInt(size))
  return {
    domain: sizes.reduce((product, size) => product * size, 1n),
    textAt(rank) {
      const units: string[] = new Array(slots.length)
      let rest = rank
      for (let i = groups.length - 1; i >= 0; i--) {
        const size = sizes[i] ?? 1n
        writeGroup(slots, groups[i] ?? NO_GROUP, i === 0 ? Number(rest) : Number(rest % size), units)
        rest /= size
      }
      return units.join('')
    },
    rankOf(text) {
      if (text.length !== slots.length) return undefined
      let rank = 0n
      for (let i = 0; i < groups.length; i++) {
        const part = readGroup(slots, groups[i] ?? NO_GROUP, text)
        if (part === undefined) return undefined
        rank = rank * (sizes[i] ?? 1n) + BigInt(part)
      }
      return rank
    },
  }
}

/** The texts of a set but the value itself. */
export function apartFrom(space: TextSpace, value: string): TokenShape {
  const own = space.rankOf(value)
  if (own === undefined) return { domain: space.domain, tokenAt: (rank) => space.textAt(rank) }
  return { domain: space.domain - 1n, tokenAt: (rank) => space.textAt(rank < own ? rank : rank + 1n) }
}

const NO_GROUP: Group = { from: 0, to: 0, size: 1 }

function grouped(slots: readonly Slot[]): Group[] {
  const groups: Group[] = []
  let from = 0
  let size = 1
  for (let at = 0; at < slots.length; at++) {
    const grown = size * (slots[at]?.length ?? 1)
    if (grown > Number.MAX_SAFE_INTEGER) {
      groups.push({ from, to: at, size })
      from = at
      size = slots[at]?.length ?? 1
    } else size = grown
  }
  groups.push({ from, to: slots.length, size })
  return groups
}

function writeGroup(slots: readonly Slot[], { from, to }: Group, number: number, units: string[]): void {
  let rest = number
  for (let at = to - 1; at >= from; at--) {
    const slot = slots[at] ?? ''
    units[at] = slot.charAt(rest % slot.length)
    rest = Math.floor(rest / slot.length)
  }
}

function readGroup(slots: readonly Slot[], { from, to }: Group, text: string): number | undefined {
  let number = 0
  for (let at = from; at < to; at++) {
    const slot = slots[at] ?? ''
    const place = slot.indexOf(text.charAt(at))
    if (place < 0) return undefined
    number = number * slot.length + place
  }
  return number
}
