/** What each normalizer makes equal, and of which texts it leaves nothing. */
import { domainToASCII } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Normalizer, normalize, SELECTIVE } from '../../../src/core/values/normalizers.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'

it('trim removes white space at both ends only', () => {
  expect(normalize(['trim'], ' \t\u00a0a b\u2003\n')).toBe('a b')
})

it('lowercase lowers each code point independently of its neighbors', () => {
  expect(normalize(['lowercase'], 'ÀÉ𐐀 ΣΑΣ')).toBe('àé𐐨 σασ')
  expect(normalize(['lowercase'], 'I')).toBe('i')
})

it('several apply in order, and an empty list changes nothing', () => {
  expect(normalize(['lowercase', 'trim'], ' Ann@ACME.example ')).toBe('ann@acme.example')
  expect(normalize([], ' A ')).toBe(' A ')
  expect(normalize(['trim', 'digits'], '  ')).toBe('')
})

describe('digits', () => {
  it.each([
    ['+46 (0)70-123 45 67', '460701234567'],
    ['٠٧٠١', '0701'],
    ['٠٩٩٨', '0998'],
    ['௧௨ ߁߂ ７８ 𝟡 ²', '1212' + '7892'],
    ['', ''],
  ])('keeps the decimal digits of every script: %s', (text, normal) => {
    expect(normalize(['digits'], text)).toBe(normal)
  })

  it('leaves nothing of a text without digits', () => {
    for (const text of ['private line', 'none', 'unknown', ' ', '-']) expect(normalize(['digits'], text)).toBeUndefined()
  })

  it('reads every decimal digit of Unicode as its value', () => {
    for (let point = 0; point <= 0x10ffff; point++) {
      const text = point >= 0xd800 && point <= 0xdfff ? '' : String.fromCodePoint(point)
      if (!/^\p{Nd}$/u.test(text)) continue
      const zero = point - Number(normalize(['digits'], text))
      expect(normalize(['digits'], String.fromCodePoint(zero)), text).toBe('0')
      expect(normalize(['digits'], String.fromCodePoint(zero + 9)), text).toBe('9')
    }
  })
})

describe('iban', () => {
  it.each([
    ['de89 3704 0044 0532 0130 00', 'DE89370400440532013000'],
    ['\u202aDE89\u00a037040044 0532\u200b013000\u202c', 'DE89370400440532013000'],
    ['ＤＥ８９ 3704 0044 0532 0130 00', 'DE89370400440532013000'],
    ['GB29nwbk60161331926819', 'GB29NWBK60161331926819'],
    ['', ''],
  ])('reads %s in capitals without spaces', (text, normal) => {
    expect(normalize(['iban'], text)).toBe(normal)
    expect(normalize(['iban'], normal)).toBe(normal)
  })

  it('leaves nothing of a text of another form', () => {
    for (const text of [
      'DE89',
      '370400440532013000',
      'DE89-3704-0044-0532-0130-00',
      'Deß89 3704 0044 0532 0130',
      'private account',
    ])
      expect(normalize(['iban'], text)).toBeUndefined()
  })
})

describe('phone', () => {
  it.each([
    ['+46 70-123 45 67', '+46701234567'],
    ['0046 70 123 45 67', '+46701234567'],
    ['(+46) 70.123/45[67]', '+46701234567'],
    ['＋４６ 70 123 45 67', '+46701234567'],
    ['\u202a+46\u00a070\u2011123\u221245\u200b67\u202c', '+46701234567'],
    ['+٤٦ ٧٠ ١٢٣ ٤٥ ٦٧', '+46701234567'],
    ['070-123 45 67', '0701234567'],
    ['112', '112'],
    ['', ''],
  ])('reads %s as E.164', (text, normal) => {
    expect(normalize(['phone'], text)).toBe(normal)
  })

  it.each([
    'private line',
    '555 CALL ME',
    '070-123 ext. 4',
    '070-123 x4',
    '070-123#4',
    '070,4',
    '46+70',
    '+0046',
    '+',
    '00',
    '1'.repeat(16),
  ])('leaves nothing of %s', (text) => {
    expect(normalize(['phone'], text)).toBeUndefined()
  })
})

describe('email', () => {
  it.each([
    ['Ann@ACME.example', 'Ann@acme.example'],
    ['ann@BÜCHER.example', 'ann@bücher.example'],
    ['ann@xn--bcher-kva.example', 'ann@bücher.example'],
    ['ann@XN--BCHER-KVA.Example', 'ann@bücher.example'],
    ['ann@ｅｘａｍｐｌｅ。jp', 'ann@example.jp'],
    ['ａｎｎ＠acme.example', 'ａｎｎ@acme.example'],
    ['a。b﹫acme.example', 'a。b@acme.example'],
    ['ann@xn---3ya.example', 'ann@xn---3ya.example'],
    ['ann@xn--ü-3ya.example', 'ann@xn--ü-3ya.example'],
    ['ann@faß.example', 'ann@faß.example'],
    ['ann@[IPv6:2001:DB8::1]', 'ann@[ipv6:2001:db8::1]'],
    ['"ann lee"@acme.example', '"ann lee"@acme.example'],
    ['änn+news@acme.example', 'änn+news@acme.example'],
    ['', ''],
  ])('has one spelling of the domain of %s, and leaves what is before the @', (text, normal) => {
    expect(normalize(['email'], text)).toBe(normal)
  })

  it.each([
    'unknown',
    '@',
    'ann@',
    '@acme.example',
    'a b@acme.example',
    'ann@a..b',
    'ann@-a.b',
    'ann@a%62.c',
    'ann@acme.example:25',
    'ann@b＠acme.example',
    '＠'.repeat(1_000_000),
    `${'a'.repeat(10_000_000)}@b`,
  ])('leaves nothing of what is not an address', (text) => {
    expect(normalize(['email'], text)).toBeUndefined()
  })

  it('agrees with the IDNA of the runtime on which domains are one', () => {
    const random = seededRandom('domains')
    const letters = [...'abcXYZ019-äÖßñéμβΣçøåłżșğиЖק日本한가ạẽÿ']
    const keys = new Map<string, string>()
    for (let i = 0; i < 3000; i++) {
      const label = Array.from({ length: 1 + random.below(6) }, () => random.pick(letters)).join('')
      const ascii = domainToASCII(`${label}.example`)
      if (ascii === '' || label.startsWith('-') || label.endsWith('-')) continue
      const key = normalize(['email'], `a@${label}.example`)
      expect(normalize(['email'], `a@${ascii}`), label).toBe(key)
      expect(keys.get(key ?? '') ?? ascii).toBe(ascii)
      keys.set(key ?? '', ascii)
    }
    expect(keys.size).toBeGreaterThan(2000)
  })
})

it('a normal form is its own normal form, so that a text without one equals none', () => {
  const random = seededRandom('normal forms')
  const pieces = ['+46', '00', '70', 'Ann', '@', 'x', 'xn--bcher-kva', 'xn--', '.', 'ü', '٣', ' ', '(', '。', 'Σ', '-', '"', 'É']
  const before: readonly Normalizer[] = ['trim', 'lowercase']
  let kept = 0
  for (let i = 0; i < 20_000; i++) {
    const text = Array.from({ length: 1 + random.below(7) }, () => random.pick(pieces)).join('')
    const names = random.shuffle([...random.sample(before, random.below(3)), random.pick(Object.keys(SELECTIVE) as Normalizer[])])
    const normal = normalize(names, text)
    if (normal === undefined) continue
    kept++
    expect(normalize(names, normal), JSON.stringify([names, text])).toBe(normal)
  }
  expect(kept).toBeGreaterThan(2000)
})
