/** Token domains: numbered sets of texts, with the text of a number and the number of a text. */
import { fromUnits } from '../../util/bytes.ts'
import { at, required } from '../../util/lists.ts'
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

/** Number of texts of a group at most. The engine divides integers of 32 bits several times faster than larger ones. */
const MAX_GROUP = 2 ** 31 - 1

/** Neighboring slots `from .. to)` with `size` texts: they are computed without big integers. */
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
      const units: number[] = new Array(slots.length)
      let rest = rank
      for (let i = groups.length - 1; i >= 0; i--) {
        const size = at(sizes, i)
        writeGroup(slots, at(groups, i), i === 0 ? Number(rest) : Number(rest % size), units)
        rest /= size
      }
      return fromUnits(units)
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

/** True if each unit of a text is one of the slot at its place. */
export function fitsSlots(slots: readonly Slot[], text: string): boolean {
  if (text.length !== slots.length) return false
  for (let i = 0; i < slots.length; i++) if (indexOfUnit(required(slots[i]), text.charCodeAt(i)) < 0) return false
  return true
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
    if (grown > MAX_GROUP) {
      groups.push({ from, to: index, size })
      from = index
      size = length
    } else size = grown
  }
  groups.push({ from, to: slots.length, size })
  return groups
}

function writeGroup(slots: readonly Slot[], { from, to }: Group, number: number, units: number[]): void {
  let rest = number | 0
  for (let i = to - 1; i >= from; i--) {
    const slot = required(slots[i])
    const next = (rest / slot.length) | 0
    units[i] = slot.charCodeAt(rest - next * slot.length)
    rest = next
  }
}

function readGroup(slots: readonly Slot[], { from, to }: Group, text: string): number | undefined {
  let number = 0
  for (let i = from; i < to; i++) {
    const slot = required(slots[i])
    const index = indexOfUnit(slot, text.charCodeAt(i))
    if (index < 0) return undefined
    number = number * slot.length + index
  }
  return number
}

/** Returns the position of a unit in a slot; a negative number if it is not there. Most slots are runs of neighbors, in which it is known. */
function indexOfUnit(slot: Slot, unit: number): number {
  const guess = unit - slot.charCodeAt(0)
  return slot.charCodeAt(guess) === unit ? guess : slot.indexOf(String.fromCharCode(unit))
}
