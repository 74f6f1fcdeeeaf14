/** Redaction: levels and their results, the masked form of each mask, and the property that none reveals more than it states. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  compileMask,
  isRedaction,
  isRedactionLevel,
  lowerLevel,
  type MaskDefinition,
  MaskError,
  mask,
  mayBeMaskedBy,
  REDACTED_TEXT,
  REDACTION_LEVELS,
  redact,
} from '../../src/core/redaction.ts'

const RUNS = { seed: 20_260_131, numRuns: 1000 }

const replace = (find: string, replacement: string): MaskDefinition => mask.replace({ find, replace: replacement })

describe('a mask', () => {
  it.each<[definition: MaskDefinition, text: string, shown: string]>([
    [mask.keepFirst(1), 'Ada Lovelace', 'A***********'],
    [mask.keepFirst(3), 'Ada', '***'],
    [mask.keepFirst(2), '😀é𝒳a', '😀é**'],
    [mask.keepFirst(1), '', ''],
    [mask.keepLast(4), '123-45-6789', '*******6789'],
    [mask.keepLast(4), '6789', '****'],
    [mask.keepLast(1), 'a😀', '*😀'],
    [mask.email, 'ada@acme.example', 'a***@acme.example'],
    [mask.email, '😀da@acme.example', '😀***@acme.example'],
    [mask.email, 'a@acme.example', '***@acme.example'],
    [mask.email, '"a@b"@acme.example', '"***@acme.example'],
    [mask.email, 'ada@bücher.example', 'a***@bücher.example'],
    [mask.email, 'no address', '***'],
    [mask.email, '@acme.example', '***'],
    [mask.email, 'ada@my secret note', '***'],
    [mask.email, 'ada@', '***'],
    [mask.ssn, '123-45-6789', '***-**-6789'],
    [mask.ssn, '123456789', '***-**-6789'],
    [mask.ssn, '12345678', '***-**-****'],
    [mask.ssn, 'x123456789', '***-**-****'],
    [mask.card, '4111 1111 1111 1234', '************1234'],
    [mask.card, '378282246310005', '************0005'],
    [mask.cardBin, '4111 1111 1111 1234', '411111******1234'],
    [mask.cardBin, '3782-822463-10005', '378282******0005'],
    [mask.cardBin, '6304000000000000000', '630400******0000'],
    [mask.cardBin, '30569309025904', '************5904'],
    [mask.cardBin, '41111111111', '****************'],
    [mask.cardBin, '4111111111111111 and more', '****************'],
    [mask.iban, 'DE89 3704 0044 0532 0130 00', 'DE****************3000'],
    [mask.iban, 'gb29 nwbk 6016 1331 9268 1a', 'GB****************681A'],
    [mask.iban, 'NO9386011117947', 'NO****************7947'],
    [mask.iban, 'NO938601111794', '**********************'],
    [mask.iban, 'DE89 3704 0044 0532 0130 0ß', '**********************'],
    [mask.iban, '370400440532013000', '**********************'],
    [mask.card, '41111111111', '****************'],
    [mask.card, '41111111111111111111', '****************'],
    [replace('[0-9]', '*'), 'a1b22', 'a*b**'],
    [replace('(\\d{3})-(\\d{2})', `\${2}:$1`), '123-45', '45:123'],
    [replace('(a)|(b)', '[$1|$2|$0|$$]'), 'ab', '[a||a|$][|b|b|$]'],
    [replace('(?P<user>.).*@', `\${user}*@`), 'ada@x', 'a*@x'],
    [replace('x*', '-'), 'abxxc', '-a-b--c-'],
    [replace('.', '*'), '😀é', '**'],
    [replace('a', '$ $x {1}'), 'a', '$ $x {1}'],
    [replace('^[0-9]{3}-[0-9]{2}-', '***-**-'), '123456789', '*REDACTED*'],
  ])('%j masks %s as %s', (definition, text, shown) => {
    expect(compileMask(definition)(text)).toBe(shown)
  })

  it.each<MaskDefinition>([
    mask.keepFirst(2),
    mask.keepLast(2),
    mask.email,
    mask.ssn,
    mask.card,
    mask.cardBin,
    mask.iban,
    replace('[a-z]+', ''),
  ])('of definition %j may give what it gives for any text', (definition) => {
    const masked = compileMask(definition)
    const mayBeMasked = mayBeMaskedBy(definition)
    const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.emailAddress(), fc.stringMatching(/^[0-9 -]{9,19}$/))
    fc.assert(
      fc.property(texts, (text) => mayBeMasked(masked(text))),
      RUNS,
    )
  })

  it('of a preset gives no text without a star, other than the empty text', () => {
    expect([mask.keepFirst(1), mask.email].map((one) => mayBeMaskedBy(one)('Ada'))).toEqual([false, false])
    expect(mayBeMaskedBy(replace('a', 'b'))('Ada')).toBe(true)
  })

  it('is plain JSON', () => {
    for (const definition of [mask.keepFirst(1), mask.email, replace('a', 'b')]) {
      expect(JSON.parse(JSON.stringify(definition))).toEqual(definition)
    }
  })

  it.each<[definition: MaskDefinition, fault: string]>([
    [replace('(', ''), 'RE2'],
    [replace('(a)\\1', ''), 'RE2'],
    [replace('a(?=b)', ''), 'RE2'],
    [replace('(a)', '$2'), 'a group that find does not have'],
    [replace('(a)', `\${name}`), 'a group that find does not have'],
    [replace('(a)', `\${toString}`), 'a group that find does not have'],
    [replace('(a)', `\${}`), 'a group that find does not have'],
    [{ preset: 'keepFirst', count: 0 }, '1 to 1000'],
    [{ preset: 'keepLast', count: 1.5 }, '1 to 1000'],
    [{ preset: 'keepLast', count: Number.NaN }, '1 to 1000'],
  ])('rejects %j at definition', (definition, fault) => {
    expect(() => compileMask(definition)).toThrow(MaskError)
    expect(() => compileMask(definition)).toThrow(fault)
  })
})

describe('a replacing mask', () => {
  it('takes time linear in the text for a pattern with catastrophic backtracking', () => {
    const text = 'a'.repeat(50_000)
    expect(compileMask(replace('(a+)+$', 'x'))(text)).toBe('x')
    expect(compileMask(replace('(a+)+$', 'x'))(`${text}!`)).toBe('*REDACTED*')
  })

  it('stops a pattern that searches the rest of the text at every match, and redacts the text', () => {
    expect(compileMask(replace('(a.*b)|a', 'x'))('a'.repeat(50_000))).toBe('*REDACTED*')
    expect(compileMask(replace('(a.*b)|a', 'x'))('a'.repeat(1000))).toBe('x'.repeat(1000))
  })

  it('masks long texts if the length of its matches is bounded', () => {
    expect(compileMask(replace('[0-9]', '*'))('1'.repeat(50_000))).toBe('*'.repeat(50_000))
  })
})

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom(...'0123456789 -@.a😀é'), maxLength: 24 }),
  fc.stringMatching(/^[0-9]{9,20}$/),
  fc.stringMatching(/^[A-Z]{2}[0-9]{2}[ ]?[A-Za-z0-9]{11,30}$/),
  fc.emailAddress(),
)

/** All that docs/schema.md says each mask reveals: two texts that agree in it have the same masked form. */
const REVEALED: Readonly<Record<keyof typeof mask, readonly [MaskDefinition, (text: string) => unknown]>> = {
  keepFirst: [mask.keepFirst(2), (given) => lengthAnd([...given], (points) => points.slice(0, 2))],
  keepLast: [mask.keepLast(2), (given) => lengthAnd([...given], (points) => points.slice(-2))],
  email: [mask.email, revealedOfEmail],
  ssn: [mask.ssn, (given) => lastFour(given, 9, 9)],
  card: [mask.card, (given) => lastFour(given, 12, 19)],
  cardBin: [mask.cardBin, (given) => [firstSix(given), lastFour(given, 12, 19)]],
  iban: [mask.iban, revealedOfIban],
  replace: [replace('([a-z])[0-9]+', '$1#'), (given) => [/[a-z][0-9]/.test(given), given.replaceAll(/(?<=[a-z])[0-9]+/g, '#')]],
}

describe.each(Object.entries(REVEALED))('the mask %s', (_name, [definition, revealedBy]) => {
  const show = compileMask(definition)

  it('gives equal results for texts that agree in what it states', () => {
    const shownByRevealed = new Map<string, string>()
    fc.assert(
      fc.property(text, (given) => {
        const revealed = JSON.stringify(revealedBy(given))
        const shown = show(given)
        expect(shownByRevealed.get(revealed) ?? shown).toBe(shown)
        shownByRevealed.set(revealed, shown)
      }),
      RUNS,
    )
    expect(shownByRevealed.size).toBeGreaterThan(1)
  })

  it('does not show changes of hidden characters, unlike a mask that hides nothing', () => {
    assertHides(show, revealedBy)
    expect(() => assertHides((given) => given, revealedBy)).toThrow()
  })
})

/** Changes one character after another; where the stated revealed stay, what is shown must stay. */
function assertHides(show: (text: string) => string, revealedBy: (text: string) => unknown): void {
  fc.assert(
    fc.property(text, fc.nat(), fc.constantFrom('7', 'q', 'é', '😀'), (given, place, other) => {
      const points = [...given]
      if (points.length > 0) points[place % points.length] = other
      const changed = points.join('')
      if (JSON.stringify(revealedBy(changed)) === JSON.stringify(revealedBy(given))) expect(show(changed)).toBe(show(given))
    }),
    RUNS,
  )
}

function lengthAnd(points: readonly string[], kept: (points: readonly string[]) => readonly string[]): unknown {
  return points.length > 2 ? [points.length, kept(points).join('')] : [points.length]
}

function lastFour(given: string, min: number, max: number): unknown {
  const digits = given.length <= 40 && /^[0-9 -]*$/.test(given) ? given.replaceAll(/[^0-9]/g, '') : ''
  return digits.length >= min && digits.length <= max ? digits.slice(-4) : 'not that'
}

/** The first six digits of a number of 15 to 19: PCI DSS allows no more beside the last four. */
function firstSix(given: string): string {
  return lastFour(given, 15, 19) === 'not that' ? '' : given.replaceAll(/[^0-9]/g, '').slice(0, 6)
}

function revealedOfIban(given: string): unknown {
  const number = given.replaceAll(/[ -]/g, '')
  const isOne = given.length <= 80 && /^[A-Za-z]{2}[0-9]{2}[A-Za-z0-9]{11,30}$/.test(number)
  return isOne ? [number.slice(0, 2).toUpperCase(), number.slice(-4).toUpperCase()] : 'no IBAN'
}

function revealedOfEmail(given: string): unknown {
  const found = /^(.+)@([^@\s]+)$/su.exec(given)
  const [, local = '', domain = ''] = found ?? []
  const reads =
    found !== null && domain.split('.').every((label) => /^[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?$/u.test(label))
  return reads ? [domain, [...local].length > 1 ? [...local][0] : ''] : 'no email'
}

it('returns the level that reveals less, in either order', () => {
  REDACTION_LEVELS.forEach((one, i) => {
    REDACTION_LEVELS.forEach((other, k) => {
      expect(lowerLevel(one, other)).toBe(REDACTION_LEVELS[Math.max(i, k)])
    })
  })
})

it('accepts three levels, and DEFAULT in requests', () => {
  expect(
    [...REDACTION_LEVELS, 'DEFAULT', 'masked', '', 'toString', '__proto__', 1, null, undefined, ['MASKED']].filter(
      isRedactionLevel,
    ),
  ).toEqual(REDACTION_LEVELS)
  expect(['DEFAULT', 'MASKED', 'default', 'constructor', Symbol.iterator].filter(isRedaction)).toEqual(['DEFAULT', 'MASKED'])
})

describe('redact', () => {
  const shout = (text: string): string => text.toUpperCase()

  it('returns plain text unchanged, the masked form if masked, and a constant otherwise', () => {
    expect(redact('PLAIN_TEXT', 'secret', shout)).toBe('secret')
    expect(redact('MASKED', 'secret', shout)).toBe('SECRET')
    expect(redact('MASKED', 'secret')).toBe(REDACTED_TEXT)
    expect(redact('MASKED', 'secret', undefined)).toBe('*REDACTED*')
    expect(redact('REDACTED', 'secret', shout)).toBe('*REDACTED*')
  })
})
