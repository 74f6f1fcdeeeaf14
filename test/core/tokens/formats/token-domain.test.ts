/** Numbered texts: each text once, in order, and back, also beyond safe integers. */
import { expect, it } from 'vitest'
import { excluding, slotDomain } from '../../../../src/core/tokens/formats/token-domain.ts'

it('lists each text of a small domain once, in dictionary order, and returns its number', () => {
  const domain = slotDomain(['ab', '-', '012', 'xyz'])
  const texts = Array.from({ length: Number(domain.size) }, (_, rank) => domain.textAt(BigInt(rank)))
  expect(texts.length).toBe(18)
  expect(texts).toEqual([...new Set(texts)].sort())
  expect(texts.map((text) => domain.rankOf(text))).toEqual(texts.map((_, rank) => BigInt(rank)))
})

it('counts exactly in a domain of hundreds of slots', () => {
  const slots = Array.from({ length: 200 }, (_, i) =>
    i % 3 === 0 ? '0123456789' : i % 3 === 1 ? 'abcdefghijklmnopqrstuvwxyz' : '-',
  )
  const domain = slotDomain(slots)
  expect(domain.size).toBe(slots.reduce((product, slot) => product * BigInt(slot.length), 1n))
  for (const rank of [0n, 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, domain.size / 3n, domain.size - 1n]) {
    expect(domain.rankOf(domain.textAt(rank))).toBe(rank)
  }
  expect(domain.textAt(0n)).toBe(slots.map((slot) => slot.charAt(0)).join(''))
  expect(domain.textAt(domain.size - 1n)).toBe(slots.map((slot) => slot.at(-1)).join(''))
})

it('counts as its slots say, for slots of any size and order', () => {
  const slots = ['cab', '0123456789', '9', 'zyxwvut', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', '13579', 'åäö', '0123456789']
  for (let length = 1; length <= 40; length++) {
    const chosen = Array.from({ length }, (_, i) => slots[(i * 5 + length) % slots.length] ?? '')
    const domain = slotDomain(chosen)
    for (let part = 0n; part < 7n; part++) {
      const rank = ((domain.size - 1n) * part) / 6n
      let rest = rank
      const units = chosen.toReversed().map((slot) => {
        const unit = slot.charAt(Number(rest % BigInt(slot.length)))
        rest /= BigInt(slot.length)
        return unit
      })
      const text = units.toReversed().join('')
      expect(domain.textAt(rank)).toBe(text)
      expect(domain.rankOf(text)).toBe(rank)
    }
  }
})

it('returns undefined for a text of another length or with a character outside its slot', () => {
  const domain = slotDomain(['01', '01', '-'])
  for (const text of ['', '0', '00', '00--', '02-', 'o0-', '00_', '😀-']) expect(domain.rankOf(text)).toBeUndefined()
  expect(slotDomain([]).size).toBe(1n)
  expect(slotDomain([]).textAt(0n)).toBe('')
})

it('excludes only the value, at any position', () => {
  const domain = slotDomain(['abc', '01'])
  const all = Array.from({ length: 6 }, (_, rank) => domain.textAt(BigInt(rank)))
  for (const value of all) {
    const range = excluding(domain, value)
    expect(range.domain).toBe(5n)
    expect(Array.from({ length: 5 }, (_, rank) => range.tokenAt(BigInt(rank)))).toEqual(all.filter((text) => text !== value))
  }
  expect(excluding(domain, 'elsewhere').domain).toBe(6n)
})
