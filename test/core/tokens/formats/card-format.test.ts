/** Card tokens: their Luhn sums, their enumerated number, and rejected cards. */
import { expect, it } from 'vitest'
import { cardDomain, cardFormat, luhnDigit, luhnSum } from '../../../../src/core/tokens/formats/card-format.ts'

/** The Luhn check from its description: double every second digit from the right and subtract 9 from what exceeds 9. */
function passes(text: string): boolean {
  const digits = [...text].filter((character) => /[0-9]/.test(character)).map(Number)
  let sum = 0
  for (const [fromRight, digit] of digits.reverse().entries()) {
    const counted = fromRight % 2 === 1 ? digit * 2 : digit
    sum += counted > 9 ? counted - 9 : counted
  }
  return sum % 10 === 0
}

const NON_ZERO = [1, 2, 3, 4, 5, 6, 7, 8, 9]

it('returns the Luhn sum of published test cards, and a digit for every amount', () => {
  for (const card of ['4111 1111 1111 1111', '5500-0000-0000-0004', '340000000000009', '6011000000000004', '79927398713']) {
    expect(luhnSum(card), card).toBe(0)
    expect(passes(card)).toBe(true)
  }
  expect(luhnSum('79927398710')).not.toBe(0)
  for (let behind = 0; behind < 4; behind++) {
    for (let amount = 0; amount < 10; amount++) expect(luhnSum(`${luhnDigit(amount, behind)}${'0'.repeat(behind)}`)).toBe(amount)
  }
})

it('enumerates exactly the numbers of its sums for few free digits, each once', () => {
  const card = '12-345'
  for (const kept of [
    { first: 0, last: 0 },
    { first: 1, last: 2 },
    { first: 0, last: 3 },
    { first: 3, last: 0 },
  ]) {
    for (const sums of [NON_ZERO, [0], [5]]) {
      const domain = cardDomain(card, kept, sums)
      const expected = Array.from({ length: 100_000 }, (_, i) => i.toString().padStart(5, '0'))
        .map((digits) => `${digits.slice(0, 2)}-${digits.slice(2)}`)
        .filter((text) => text.replace('-', '').startsWith('12345'.slice(0, kept.first)))
        .filter((text) => text.endsWith(card.slice(card.length - kept.last)) && sums.includes(luhnSum(text)))
      expect(domain.size).toBe(BigInt(expected.length))
      const step = Math.max(1, Math.floor(expected.length / 3000))
      const texts = new Set<string>()
      for (let rank = 0; rank < expected.length; rank += step) {
        const text = domain.textAt(BigInt(rank))
        texts.add(text)
        expect(domain.rankOf(text)).toBe(BigInt(rank))
        expect(passes(text)).toBe(sums.includes(0))
      }
      expect(texts.size).toBe(Math.ceil(expected.length / step))
      if (step === 1) expect([...texts].sort()).toEqual(expected.sort())
    }
  }
})

it('rejects formats with fewer than a million tokens for a card of 16 digits, and names their number', () => {
  expect(() => cardFormat({ keepFirst: 6, keepLast: 4 })).toThrow('900,000 possibilities for a card of 16 digits')
  expect(() => cardFormat({ keepFirst: 6, keepLast: 4, luhn: 'valid' })).toThrow('100,000 possibilities')
  expect(() => cardFormat({ keepFirst: 12, keepLast: 4 })).toThrow('has a token format with 0 possibilities')
  expect(cardFormat({ keepFirst: 6, keepLast: 3 }).capacity).toBe(9_000_000n)
  expect(cardFormat({ keepFirst: 6, keepLast: 3, luhn: 'valid' }).capacity).toBe(1_000_000n)
  expect(cardFormat().capacity).toBe(90_000_000n)
  expect(cardFormat({ luhn: 'valid' }).deterministic?.capacity).toBe(10_000_000n)
})

it('rejects a card too short for the kept digits, and names the length', () => {
  const format = cardFormat({ keepFirst: 6, keepLast: 3 })
  expect(() => format.rangeOf('340000000000009')).toThrow('must be a card number of 16 to 19 digits')
  expect(format.rangeOf('4111111111111111').domain).toBe(9_000_000n)
  expect(format.rangeOf('4111111111111111110').domain).toBe(9_000_000_000n)
})

it('excludes a value that fails the check from its own tokens', () => {
  const format = cardFormat()
  expect(format.rangeOf('4111111111111112').domain).toBe(9n * 10n ** 11n - 1n)
  expect(format.rangeOf('4111111111111111').domain).toBe(9n * 10n ** 11n)
})

it('inverts deterministic tokens, which share one sum, and rejects a card that fails the check', () => {
  const format = cardFormat({ keepFirst: 4 }).deterministic
  const ranked = format?.rankOf('4111-1111-1111-1111')
  expect(ranked?.domain).toBe(10n ** 7n)
  for (const rank of [0n, 1n, 9_999_999n]) {
    const token = ranked?.tokenAt(rank) ?? ''
    expect(token).toMatch(/^4111-[0-9]{4}-[0-9]{4}-1111$/)
    expect(luhnSum(token)).toBe(5)
    expect(format?.rankOfToken(token)).toMatchObject({ value: rank, domain: 10n ** 7n, tweakText: ranked?.tweakText })
    expect(passes(format?.rankOfToken(token)?.valueAt(rank) ?? '')).toBe(true)
  }
  expect(() => format?.rankOf('4111-1111-1111-1112')).toThrow('must be a card number with a correct check digit')
  expect(format?.rankOfToken('4111-1111-1111-1111')).toBeUndefined()
  expect(format?.rankOf('4111-1111-1111-1111').tweakText).not.toBe(format?.rankOf('5500-0000-0000-0004').tweakText)
})
