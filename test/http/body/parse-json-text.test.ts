/** JSON of bodies is parsed strictly: nothing is lost, changed or guessed. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { locateJsonError } from '../../../src/http/body/locate-json-error.ts'
import { checkJsonValue, parseJsonText } from '../../../src/http/body/parse-json-text.ts'
import { scanJsonText } from '../../../src/http/body/scan-json-text.ts'
import { isVaultError } from '../../../src/index.ts'

/** A value that no message may have. */
const TEST_SECRET = 'TEST_SECRET_b7f3'

function errorOf(work: () => unknown): { readonly code: string; readonly message: string } {
  try {
    work()
  } catch (error) {
    if (isVaultError(error)) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('nothing was thrown')
}

/** Text that is refused as invalid, and its sentence. */
const LONG = 'The body holds an integer beyond 2^53, which must be text because a number loses digits'

const INVALID: readonly (readonly [text: string, sentence: string])[] = [
  ['', 'The body is not JSON: line 1, column 1.'],
  [' \n ', 'The body is not JSON: line 2, column 2.'],
  [TEST_SECRET, 'The body is not JSON: line 1, column 1.'],
  [`{"a":${TEST_SECRET}}`, 'The body is not JSON: line 1, column 6.'],
  [`{"a":"${TEST_SECRET}`, 'The body is not JSON: line 1, column 23.'],
  [`{"${TEST_SECRET}" 1}`, 'The body is not JSON: line 1, column 21.'],
  ['{"a":1,}', 'The body is not JSON: line 1, column 8.'],
  ['{"a":1}}', 'The body is not JSON: line 1, column 8.'],
  ['{"a":1] ', 'The body is not JSON: line 1, column 7.'],
  ['[1,]', 'The body is not JSON: line 1, column 4.'],
  ['[1 2]', 'The body is not JSON: line 1, column 4.'],
  ['[1', 'The body is not JSON: line 1, column 3.'],
  ['{,}', 'The body is not JSON: line 1, column 2.'],
  ['{1:2}', 'The body is not JSON: line 1, column 2.'],
  ['[01]', 'The body is not JSON: line 1, column 3.'],
  ['[+1]', 'The body is not JSON: line 1, column 2.'],
  ['[1.]', 'The body is not JSON: line 1, column 3.'],
  ['[.5]', 'The body is not JSON: line 1, column 2.'],
  ['[0x10]', 'The body is not JSON: line 1, column 3.'],
  ['[NaN]', 'The body is not JSON: line 1, column 2.'],
  ['[Infinity]', 'The body is not JSON: line 1, column 2.'],
  ["['a']", 'The body is not JSON: line 1, column 2.'],
  ['[1] // comment', 'The body is not JSON: line 1, column 5.'],
  ['["a\tb"]', 'The body is not JSON: line 1, column 4.'],
  ['["a\u0000b"]', 'The body is not JSON: line 1, column 4.'],
  ['["a\\x41"]', 'The body is not JSON: line 1, column 4.'],
  ['["\\u12G4"]', 'The body is not JSON: line 1, column 3.'],
  ['["\\', 'The body is not JSON: line 1, column 3.'],
  ['\u00a0[]', 'The body is not JSON: line 1, column 1.'],
  ['\ufeff{}', 'The body is not JSON: line 1, column 1.'],
  ['{\r\n  "a": 1,\r\n  "b": tru\r\n}', 'The body is not JSON: line 3, column 8.'],
  ['["\ud800"]', 'The body holds a lone surrogate: line 1, column 3.'],
  ['["\udc00"]', 'The body holds a lone surrogate: line 1, column 3.'],
  ['["\\ud800"]', 'The body holds a lone surrogate: line 1, column 3.'],
  ['["\\uDC00\\uD800"]', 'The body holds a lone surrogate: line 1, column 3.'],
  ['["x\\ud800\\ud800\\udc00"]', 'The body holds a lone surrogate: line 1, column 4.'],
  ['["\\ud800", "\\udc00"]', 'The body holds a lone surrogate: line 1, column 3.'],
  ['{"\\udfff":1}', 'The body holds a lone surrogate: line 1, column 3.'],
  ['["\\\\\\ud800"]', 'The body holds a lone surrogate: line 1, column 5.'],
  ['{"a":1,"a":1}', 'The body has two members of the same name in one object: line 1, column 8.'],
  ['{"a":1,"\\u0061":2}', 'The body has two members of the same name in one object: line 1, column 8.'],
  [
    `{"x":[{"${TEST_SECRET}":1,\n"b":{},"${TEST_SECRET}":2}]}`,
    'The body has two members of the same name in one object: line 2, column 8.',
  ],
  ['{"__proto__":1,"__proto__":2}', 'The body has two members of the same name in one object: line 1, column 16.'],
  ['{"":1,"":2}', 'The body has two members of the same name in one object: line 1, column 7.'],
  ['[1e999]', 'The body holds a number that is too large for a double: line 1, column 2.'],
  ['{"a":-1e400}', 'The body holds a number that is too large for a double: line 1, column 6.'],
  ['[9007199254740993]', `${LONG}: line 1, column 2.`],
  ['{"a":"9007199254740993\\"",\n"b":-9007199254740993}', `${LONG}: line 2, column 5.`],
  [`[1${'0'.repeat(22)}1]`, `${LONG}: line 1, column 2.`],
]

it('keeps integers beyond 2^53 that a double holds, whichever program wrote them, and those in text', () => {
  const kept = [
    '9007199254740992',
    '-9007199254740994',
    String(2 ** 60),
    '100000000000000000000',
    '1180591620717411303424',
    '9007199254740993.0',
    '1e300',
  ]
  expect(parseJsonText(`[${kept.join()},"9007199254740993"]`)).toEqual([...kept.map(Number), '9007199254740993'])
})

it('finds an integer that loses digits behind long strings, and says no place in text of megabytes', () => {
  const strings = `"${'\\"'.repeat(2_000_000)}","${'9'.repeat(20)}"`
  expect(errorOf(() => parseJsonText(`[1152921504606846976,${strings},9007199254740993]`)).message).toContain(
    'an integer that loses digits',
  )
  expect(parseJsonText(`[1152921504606846976,${strings}]`)).toHaveLength(3)
})

describe('invalid JSON', () => {
  it.each(INVALID)('refuses %j', (text, sentence) => {
    expect(errorOf(() => parseJsonText(text))).toEqual({ code: 'invalid_request', message: sentence })
  })

  it('never quotes the text, also where the place is not searched', () => {
    for (const text of [`["${TEST_SECRET}`, `{"a":"${'x'.repeat(1_000_000)}${TEST_SECRET}" ${TEST_SECRET}`]) {
      expect(errorOf(() => parseJsonText(text)).message).not.toContain('TEST')
    }
  })

  it('refuses long text without a place', () => {
    const long = `"a":"${'x'.repeat(1_000_000)}"`
    expect(parseJsonText(`{${long}}`)).toEqual({ a: 'x'.repeat(1_000_000) })
    for (const text of [`{${long}`, `{${long},"a":1}`, `{${long},"b":"\\ud800"}`, `{${long},"b":1e999}`]) {
      expect(errorOf(() => parseJsonText(text))).toEqual({
        code: 'invalid_request',
        message: expect.stringMatching(/^The body is not JSON, or has two members/),
      })
    }
  })
})

describe('limits of JSON', () => {
  it.each([
    ['lists', (depth: number) => '['.repeat(depth) + ']'.repeat(depth)],
    ['objects', (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`],
  ])('accepts 64 nested %s, and refuses one more', (_, nested) => {
    expect(() => parseJsonText(nested(64))).not.toThrow()
    expect(errorOf(() => parseJsonText(nested(65))).code).toBe('limit_exceeded')
    expect(() => checkJsonValue(JSON.parse(nested(64)))).not.toThrow()
    expect(errorOf(() => checkJsonValue(JSON.parse(nested(65)))).code).toBe('limit_exceeded')
  })

  it.each([
    ['numbers', (count: number) => `[${Array(count - 1).fill(1)}]`],
    ['empty lists', (count: number) => `[${Array(count - 1).fill('[ ]')}]`],
    ['members', (count: number) => `{${Array.from({ length: count - 1 }, (_, index) => `"${index}":{}`)}}`],
  ])('accepts 100,000 values as %s, and refuses one more', (_, many) => {
    expect(() => parseJsonText(many(100_000))).not.toThrow()
    expect(errorOf(() => parseJsonText(many(100_001))).code).toBe('limit_exceeded')
    expect(errorOf(() => checkJsonValue(JSON.parse(many(100_001)))).code).toBe('limit_exceeded')
    expect(() => parseJsonText(many(100_001), 100_001)).not.toThrow()
    expect(errorOf(() => parseJsonText(many(11), 10)).message).toBe(
      'The body holds more than 10 JSON values. Send several requests.',
    )
  })

  it('counts what is between long white space and long numbers', () => {
    const [space, digits] = [' '.repeat(500), `1.${'1'.repeat(200)}`]
    const text = `${space}[1,${space}{"a":${digits},${space}"b" ${space}:${space}[${space}]${space}}${space},"${space},"]`
    expect(scanJsonText(text)).toEqual({ depth: 3, values: 6, members: 2 })
    expect(parseJsonText(text)).toEqual([1, { a: Number(digits), b: [] }, `${space},`])
    const twice = `{"a":1,${space}"a":2}`
    expect(errorOf(() => parseJsonText(twice)).message).toContain('two members of the same name')
  })

  it('refuses megabytes of openings before it parses them', () => {
    expect(errorOf(() => parseJsonText('[{"a":'.repeat(1_000_000))).code).toBe('limit_exceeded')
  })
})

describe('names that objects inherit', () => {
  it('keeps them as own members, and changes no prototype', () => {
    const text = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"prototype":2,"toString":3}'
    const value = parseJsonText(text)
    expect(Object.keys(Object(value))).toEqual(['__proto__', 'constructor', 'prototype', 'toString'])
    expect(JSON.stringify(value)).toBe(text)
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
  })
})

describe('valid JSON', () => {
  it('is what JSON.parse returns, for any value and any spacing', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), fc.constantFrom(undefined, 1, '\t', '\r\n'), (value, space) => {
        const text = JSON.stringify(value, null, space)
        expect(parseJsonText(text)).toEqual(JSON.parse(text))
      }),
      { numRuns: 2000 },
    )
  })

  it.each([
    '"\\\\"',
    '"\\\\\\""',
    '["\\"","\\\\",":",","]',
    '{"a:":"{","b,":"]"}',
    '" \u2028\u2029"',
    '"\\ud83d\\ude00"',
    '"😀"',
  ])('accepts %j', (text) => {
    expect(parseJsonText(text)).toEqual(JSON.parse(text))
  })
})

/** Members of an object as text: their names can be equal, also by escapes. */
const objectText = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom('1', 'null', '"a"', '":"', '"\\""', '"\\\\"', '[]', '{ }', '1e999', '"\\ud800"', '"\ud83d\\ude00"'),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(' , ')}]`),
    fc
      .array(fc.tuple(fc.constantFrom('a', 'b', '\\u0061', ':', '\\"', '__proto__', '1', ''), tie('value')), { maxLength: 4 })
      .map((members) => `{${members.map(([name, value]) => `"${name}" :${value}`).join(',')}}`),
  ),
})).value

describe('the fast path', () => {
  it('accepts exactly what the slow reading finds nothing wrong with', () => {
    let refused = 0
    fc.assert(
      fc.property(objectText, (text) => {
        const place = locateJsonError(text)
        const isAtEnd = place.reason === 'is not JSON' && place.column === text.length + 1
        if (isAtEnd) expect(parseJsonText(text)).toEqual(JSON.parse(text))
        else {
          refused++
          expect(errorOf(() => parseJsonText(text)).message).toContain(place.reason)
        }
      }),
      { numRuns: 5000 },
    )
    expect(refused).toBeGreaterThan(500)
  })

  it('agrees with JSON.parse about what is JSON, for any small change of any text', () => {
    const change = fc.tuple(
      objectText,
      fc.nat(),
      fc.nat(3),
      fc.constantFrom('', '"', '\\', '{', '}', ',', ':', '0', '\u0000', 'e'),
    )
    fc.assert(
      fc.property(change, ([text, at, cut, added]) => {
        const position = at % (text.length + 1)
        const changed = text.slice(0, position) + added + text.slice(position + cut)
        if (isJson(changed)) return
        expect(errorOf(() => parseJsonText(changed))).toEqual({
          code: 'invalid_request',
          message: expect.stringMatching(/: line 1, column \d+\.$/),
        })
      }),
      { numRuns: 5000 },
    )
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
