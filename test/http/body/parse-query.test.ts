/** Queries and paths: what decodes, and what is refused. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodePath, parseQuery } from '../../../src/http/body/parse-query.ts'
import { refusalOf } from './requests.ts'

describe('a query', () => {
  it.each([
    ['', {}],
    ['a=1', { a: ['1'] }],
    ['a', { a: [''] }],
    ['a=', { a: [''] }],
    ['=1', { '': ['1'] }],
    ['&&a=1&', { a: ['1'] }],
    ['a=1&b=2&a=3&a=', { a: ['1', '3', ''], b: ['2'] }],
    ['a=b=c', { a: ['b=c'] }],
    ['a+b=c+d%2B', { 'a b': ['c d+'] }],
    ['a%26=%3d%25', { 'a&': ['=%'] }],
    ['q=%E2%82%AC%f0%9f%98%80', { q: ['€😀'] }],
    ['fields[]=1&fields[0]=2', { 'fields[]': ['1'], 'fields[0]': ['2'] }],
    [
      '__proto__=1&constructor=2',
      Object.fromEntries([
        ['__proto__', ['1']],
        ['constructor', ['2']],
      ]),
    ],
    ['a=%0D%0A', { a: ['\r\n'] }],
    ['a=?/:@!$\'()*,;~|"<>{}^`\\', { a: ['?/:@!$\'()*,;~|"<>{}^`\\'] }],
  ])('%j has its members in order', (text, members) => {
    expect(Object.fromEntries(parseQuery(text))).toEqual(members)
  })

  it.each([
    'a=%',
    'a=%4',
    'a=%zz',
    '%=1',
    'a=%ff',
    'a=%c0%af',
    'a=%ed%a0%80',
    'a=%e2%82',
    'a=%00',
    '%00',
    'a=\0',
    'a=é',
    'a=b c',
    'a=\n',
    'a=\x7f',
    '%u0041',
  ])('%j is refused', async (text) => {
    const { code, message } = await refusalOf(async () => parseQuery(text))
    expect(code).toBe('invalid_request')
    expect(message).toMatch(/^The query has /)
  })

  it('has up to 2,000 members and 65,536 characters', async () => {
    expect(parseQuery(Array(2000).fill('a=1').join('&')).get('a')).toHaveLength(2000)
    expect(await refusalOf(async () => parseQuery(Array(2001).fill('a=1').join('&')))).toMatchObject({ code: 'limit_exceeded' })
    expect(parseQuery(`a=${'x'.repeat(65_534)}`).get('a')?.[0]).toHaveLength(65_534)
    expect(await refusalOf(async () => parseQuery(`a=${'x'.repeat(65_535)}`))).toMatchObject({ code: 'limit_exceeded' })
  })

  it('is read as it was written, for any members', () => {
    const members = fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })), { maxLength: 20 })
    fc.assert(
      fc.property(members, (given) => {
        const written = given.map(([name, value]): [string, string] => [name.replaceAll('\0', '0'), value.replaceAll('\0', '0')])
        const read = parseQuery(new URLSearchParams(written).toString())
        for (const [name] of written) {
          expect(read.get(name)).toEqual(written.filter(([other]) => other === name).map(([, value]) => value))
        }
      }),
      { numRuns: 300 },
    )
  })
})

describe('a segment of a path', () => {
  it.each([
    ['persons', 'persons'],
    ['a+b', 'a+b'],
    ['a%20b%2Fc', 'a b/c'],
    ['%E2%82%AC', '€'],
    ['', ''],
  ])('%j is decoded', (segment, text) => {
    expect(decodePath(segment)).toBe(text)
  })

  it.each(['%', '%0', '%gg', '%ff', '%c0%80', '%00', '\0', 'é', ' '])('%j is refused', async (segment) => {
    expect(await refusalOf(async () => decodePath(segment))).toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(/^The path has /),
    })
  })
})
