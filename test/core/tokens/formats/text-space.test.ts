/** Numbered texts: each text once, in order, and back, also where a text has more places than a plain number can count. */
import { expect, test } from 'vitest'
import { apartFrom, slotSpace } from '../../../../src/core/tokens/formats/text-space.ts'

test('a small space lists each of its texts once, in dictionary order, and numbers them back', () => {
  const space = slotSpace(['ab', '-', '012', 'xyz'])
  const texts = Array.from({ length: Number(space.domain) }, (_, rank) => space.textAt(BigInt(rank)))
  expect(texts.length).toBe(18)
  expect(texts).toEqual([...new Set(texts)].sort())
  expect(texts.map((text) => space.rankOf(text))).toEqual(texts.map((_, rank) => BigInt(rank)))
})

test('a space of hundreds of places counts exactly at both ends and in between', () => {
  const slots = Array.from({ length: 200 }, (_, i) =>
    i % 3 === 0 ? '0123456789' : i % 3 === 1 ? 'abcdefghijklmnopqrstuvwxyz' : '-',
  )
  const space = slotSpace(slots)
  expect(space.domain).toBe(slots.reduce((product, slot) => product * BigInt(slot.length), 1n))
  for (const rank of [0n, 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, space.domain / 3n, space.domain - 1n]) {
    expect(space.rankOf(space.textAt(rank))).toBe(rank)
  }
  expect(space.textAt(0n)).toBe(slots.map((slot) => slot.charAt(0)).join(''))
  expect(space.textAt(space.domain - 1n)).toBe(slots.map((slot) => slot.at(-1)).join(''))
})

test('a text of another length, or with a character its slot does not hold, is not in the space', () => {
  const space = slotSpace(['01', '01', '-'])
  for (const text of ['', '0', '00', '00--', '02-', 'o0-', '00_', '😀-']) expect(space.rankOf(text)).toBeUndefined()
  expect(slotSpace([]).domain).toBe(1n)
  expect(slotSpace([]).textAt(0n)).toBe('')
})

test('a shape leaves the value out and nothing else, wherever it stands', () => {
  const space = slotSpace(['abc', '01'])
  const all = Array.from({ length: 6 }, (_, rank) => space.textAt(BigInt(rank)))
  for (const value of all) {
    const shape = apartFrom(space, value)
    expect(shape.domain).toBe(5n)
    expect(Array.from({ length: 5 }, (_, rank) => shape.tokenAt(BigInt(rank)))).toEqual(all.filter((text) => text !== value))
  }
  expect(apartFrom(space, 'elsewhere').domain).toBe(6n)
})
