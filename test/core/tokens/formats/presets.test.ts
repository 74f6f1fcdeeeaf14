/** Edge cases of the presets: kept characters, the first digit, and numbers that were never assigned. */
import { expect, it } from 'vitest'
import { digitsFormat, lettersFormat } from '../../../../src/core/tokens/formats/character-format.ts'
import { dateFormat } from '../../../../src/core/tokens/formats/date-format.ts'
import { emailFormat } from '../../../../src/core/tokens/formats/email-format.ts'
import { phoneFormat } from '../../../../src/core/tokens/formats/phone-format.ts'
import { ssnFormat } from '../../../../src/core/tokens/formats/ssn-format.ts'
import type { TokenFormat } from '../../../../src/core/tokens/token-format.ts'

function fail(): never {
  throw new Error('a value without a rank')
}

function firstToken(format: TokenFormat, value: string): string {
  return format.rangeOf(value).tokenAt(0n)
}

it('keeps only separators and case', () => {
  expect(firstToken(digitsFormat, '(12) 34-56/78')).toBe('(00) 00-00/00')
  expect(firstToken(lettersFormat, "Ada O'Hara, 7")).toBe("Aaa A'Aaaa, 0")
  expect(digitsFormat.rangeOf('000000').tokenAt(0n)).toBe('000001')
})

it('rejects values with too few letters and digits', () => {
  expect(lettersFormat.rangeOf('abcde').domain).toBe(26n ** 5n - 1n)
  expect(lettersFormat.rangeOf('abc12').domain).toBe(26n ** 3n * 100n - 1n)
  expect(() => lettersFormat.rangeOf('abcd')).toThrow('must have at least 5 letters or 6 digits')
  expect(() => digitsFormat.rangeOf('12345')).toThrow('must have at least 6 digits')
  expect(() => digitsFormat.rangeOf('Robert 123456')).toThrow('must hold nothing but digits and separators')
  expect(() => digitsFormat.rangeOf('1'.repeat(257))).toThrow('must have at most 256 characters')
  expect(digitsFormat.rangeOf('1'.repeat(256)).domain).toBe(10n ** 256n - 1n)
})

it('has separate permutations for other punctuation, case and country', () => {
  const contexts = ['12-34567', '123-4567', '1234567'].map((value) => digitsFormat.deterministic?.rankOf(value).tweakText)
  expect(new Set(contexts).size).toBe(3)
  expect(lettersFormat.deterministic?.rankOf('Abcdef').tweakText).not.toBe(
    lettersFormat.deterministic?.rankOf('aBcdef').tweakText,
  )
  const phone = phoneFormat().deterministic
  expect(phone?.rankOf('+46 8123456').tweakText).not.toBe(phone?.rankOf('+47 8123456').tweakText)
  expect(phone?.rankOf('+46 8123456').tweakText).toBe(phone?.rankOf('+46 9999999').tweakText)
  const email = emailFormat().deterministic
  expect(email?.rankOf('ada.love@a.example').tweakText).not.toBe(email?.rankOf('ada.love@b.example').tweakText)
})

it.each([
  ['+1 212 555 0100', '+1 100 000 0000'],
  ['+7 921 000 00 00', '+7 100 000 00 00'],
  ['+46 8-123 45 67', '+46 1-000 00 00'],
  ['+358 40 123 4567', '+358 10 000 0000'],
  ['+39 06 1234567', '+39 00 0000000'],
  ['08-123 45 67', '00-000 00 00'],
  ['(212) 555-0100', '(100) 000-0000'],
])('keeps the country code of %s, and a leading zero', (value, first) => {
  expect(firstToken(phoneFormat(), value)).toBe(first)
})

it('replaces every digit of a telephone number without keepCountry, and makes no leading zero', () => {
  expect(firstToken(phoneFormat({ keepCountry: false }), '+46 8-123 45 67')).toBe('+10 0-000 00 00')
  const { domain, tokenAt } = phoneFormat({ keepCountry: false }).rangeOf('+46 8-123 45 67')
  expect(domain).toBe(9n * 10n ** 9n - 1n)
  expect(tokenAt(domain - 1n)).toBe('+99 9-999 99 99')
})

it('takes every telephone number of 7 to 15 digits in all, and keeps as much of the country code as leaves 7 digits', () => {
  const cut = [
    ['+290 1234', '+100 0000'],
    ['+290 51234', '+210 00000'],
    ['+47 123456', '+41 000000'],
    ['+358123456', '+351000000'],
  ] as const
  for (const [value, first] of cut) {
    expect(firstToken(phoneFormat(), value)).toBe(first)
    const { tweakText, domain, tokenAt } = phoneFormat().deterministic?.rankOf(value) ?? fail()
    for (const rank of [0n, domain / 2n, domain - 1n])
      expect(phoneFormat().deterministic?.rankOfToken(tokenAt(rank))).toMatchObject({ value: rank, domain, tweakText })
  }
  expect(phoneFormat().rangeOf('+3581234567').domain).toBe(9_000_000n - 1n)
  expect(phoneFormat().rangeOf('+358 0123456').domain).toBe(1_000_000n - 1n)
  expect(() => phoneFormat().rangeOf('911')).toThrow('must be a telephone number of 7 to 15 digits')
})

it('makes random email tokens that reveal neither length nor form of the local part', () => {
  const short = emailFormat().rangeOf('a@acme.example')
  const long = emailFormat().rangeOf('ada.lovelace+news@acme.example')
  expect([short.domain, short.tokenAt(5n)]).toEqual([long.domain, long.tokenAt(5n)])
  expect(short.tokenAt(0n)).toBe('aaaaaaaaaaaa@acme.example')
  expect(emailFormat({ keepDomain: false }).rangeOf('a@acme.example').tokenAt(0n)).toBe('aaaaaaaaaaaa@example.com')
  expect(emailFormat().rangeOf('aaaaaaaaaaaa@acme.example').tokenAt(0n)).toBe('aaaaaaaaaaab@acme.example')
})

it.each([
  ['"ann lee"@acme.example', 'acme.example'],
  ['"ann\\"@"@acme.example', 'acme.example'],
  ['änn@bücher.example', 'bücher.example'],
  ['用户@例え.jp', '例え.jp'],
  ['ann@[192.0.2.1]', '[192.0.2.1]'],
  ['ann@[IPv6:2001:db8::1]', '[IPv6:2001:db8::1]'],
  [`${'a'.repeat(64)}@${`${'b'.repeat(60)}.`.repeat(3)}${'b'.repeat(60)}`, `${`${'b'.repeat(60)}.`.repeat(3)}${'b'.repeat(60)}`],
])('takes the address %s of RFC 5321 and 6531', (value, domain) => {
  expect(firstToken(emailFormat(), value)).toBe(`aaaaaaaaaaaa@${domain}`)
})

it('makes no deterministic token of an address that would stay in clear before the @', () => {
  for (const value of ['"annlee"@acme.example', 'ännalee@acme.example'])
    expect(() => emailFormat().deterministic?.rankOf(value)).toThrow('must have letters A to Z, digits and signs')
})

it('keeps length, classes and punctuation of the local part in deterministic email tokens', () => {
  const { deterministic } = emailFormat()
  expect(deterministic?.rankOf('Ada.l-9+x@acme.example').tokenAt(0n)).toBe('Aaa.a-0+a@acme.example')
  expect(() => deterministic?.rankOf('bob@acme.example')).toThrow('must have at least 5 letters or 6 digits')
  expect(deterministic?.rankOfToken('bob@acme.example')).toBeUndefined()
  expect(emailFormat({ keepDomain: false }).deterministic).toBeUndefined()
})

it('uses each of the 57 million social security numbers that are never assigned once', () => {
  const { domain, tokenAt } = ssnFormat.rangeOf('123-45-6789')
  expect(domain).toBe(57_000_000n)
  const beginnings = new Set<string>()
  for (let rank = 0n; rank < domain; rank += 10_000n) {
    const first = tokenAt(rank)
    expect(first.endsWith('-0000') && tokenAt(rank + 9_999n) === first.replace(/0000$/, '9999')).toBe(true)
    beginnings.add(first.slice(0, 6))
  }
  expect(beginnings.size).toBe(5700)
  const groups = (area: string): number => [...beginnings].filter((beginning) => beginning.startsWith(area)).length
  expect([groups('000'), groups('666'), groups('9'), groups('900'), groups('999')]).toEqual([100, 100, 5500, 55, 55])
})

it('excludes a value that is itself a number never assigned', () => {
  expect(ssnFormat.rangeOf('000-00-0000').domain).toBe(57_000_000n - 1n)
  expect(ssnFormat.rangeOf('000000000').tokenAt(0n)).toBe('000000001')
  expect(ssnFormat.rangeOf('000 00 0000').tokenAt(0n)).toBe('000 00 0001')
  expect(ssnFormat.deterministic).toBeUndefined()
})

it('covers all dates of the calendar, including leap days', () => {
  const { domain, tokenAt } = dateFormat.rangeOf('2000-02-29')
  expect(domain).toBe(3_652_059n - 1n)
  expect([tokenAt(0n), tokenAt(domain - 1n)]).toEqual(['0001-01-01', '9999-12-31'])
  const leapDay = dateFormat.deterministic?.rankOf('2000-02-29').value ?? 0n
  expect([tokenAt(leapDay - 1n), tokenAt(leapDay)]).toEqual(['2000-02-28', '2000-03-01'])
  expect(() => dateFormat.rangeOf('1900-02-29')).toThrow('must be a day of the calendar')
})
