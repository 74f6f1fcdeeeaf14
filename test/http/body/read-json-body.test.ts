/** JSON bodies: which content types, encodings and lengths are read, and what a parser of the host leaves. */
import { describe, expect, it } from 'vitest'
import { readJsonBody } from '../../../src/http/body/read-json-body.ts'
import { refusalOf, requestOf, utf8 } from './requests.ts'

const TEST_SECRET = 'TEST_SECRET_41aa'
const JSON_TYPE = { 'content-type': 'application/json' }
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' }
const OPTIONS = { maxBytes: 1000 }

describe('the content type', () => {
  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json; charset=utf8; x=1',
    'application/json;',
    'application/vnd.api+json',
    'application/merge-patch+json; charset=utf-8',
    'application/x-www-form-urlencoded',
    'application/x-www-form-urlencoded; charset=UTF-8',
  ])('%s is JSON', async (type) => {
    const request = requestOf({ headers: { 'content-type': type }, body: ' {"a":"b&c=%20+"}' })
    expect(await readJsonBody(request, OPTIONS)).toEqual({ a: 'b&c=%20+' })
  })

  it.each([
    undefined,
    '',
    'text/plain',
    'text/json',
    'multipart/form-data; boundary=b',
    'application/octet-stream',
    'application/xml',
    'application/jsonp',
    'application/json, application/json',
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'application/json; charset=utf-8; charset=utf-8',
    'application/json; charset="utf-8',
    '+json',
  ])('%s is refused', async (type) => {
    for (const length of [{}, { 'content-length': '2' }]) {
      const headers = { ...length, ...(type === undefined ? {} : { 'content-type': type }) }
      const { code, message } = await refusalOf(() => readJsonBody(requestOf({ headers, body: '{}' }), OPTIONS))
      expect(code).toBe('invalid_request')
      expect(message).toMatch(/^The (content type|charset) of the body /)
    }
  })

  it('does not matter without a body', async () => {
    expect(await readJsonBody(requestOf({}), OPTIONS)).toBeUndefined()
    expect(await readJsonBody(requestOf({ body: '' }), OPTIONS)).toBeUndefined()
    expect(await readJsonBody(requestOf({ headers: { 'content-length': '0' }, body: '' }), OPTIONS)).toBeUndefined()
  })
})

describe('a body sent as a form', () => {
  it.each(['a=1', '"text"', '1', 'null', TEST_SECRET, `=${TEST_SECRET}`, '%7B%7D'])('%s is not JSON', async (body) => {
    const { code, message } = await refusalOf(() => readJsonBody(requestOf({ headers: FORM_TYPE, body }), OPTIONS))
    expect(code).toBe('invalid_request')
    expect(message).toMatch(/^The body is not JSON/)
    expect(message).not.toContain(TEST_SECRET)
  })

  it('can be a list, with white space in front', async () => {
    expect(await readJsonBody(requestOf({ headers: FORM_TYPE, body: '\r\n\t [1]' }), OPTIONS)).toEqual([1])
  })
})

describe('the encoding', () => {
  it.each(['gzip', 'br', 'deflate', 'identity, gzip', 'zstd'])('%s is refused', async (encoding) => {
    const headers = { ...JSON_TYPE, 'content-encoding': encoding }
    expect(await refusalOf(() => readJsonBody(requestOf({ headers, body: '{}' }), OPTIONS))).toEqual({
      code: 'invalid_request',
      message: 'The body has a content encoding. Send it without one.',
    })
  })

  it('can be named identity', async () => {
    expect(
      await readJsonBody(requestOf({ headers: { ...JSON_TYPE, 'content-encoding': 'Identity' }, body: '{}' }), OPTIONS),
    ).toEqual({})
  })

  it.each([
    ['a byte that begins nothing', [0xff]],
    ['a sequence that is cut', [0xe2, 0x82]],
    ['an overlong sequence', [0xc0, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a character past Unicode', [0xf4, 0x90, 0x80, 0x80]],
    ['UTF-16', [0x00, 0x41, 0xd8, 0x00]],
  ])('of %s is not UTF-8', async (_, bytes) => {
    const body = Uint8Array.from([...utf8('{"a":"'), ...bytes, ...utf8('"}')])
    expect(await refusalOf(() => readJsonBody(requestOf({ headers: JSON_TYPE, body }), OPTIONS))).toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(/^The body is not /),
    })
  })

  it('with a byte order mark is refused, not stripped', async () => {
    const body = Uint8Array.from([0xef, 0xbb, 0xbf, ...utf8('{}')])
    expect(await refusalOf(() => readJsonBody(requestOf({ headers: JSON_TYPE, body }), OPTIONS))).toEqual({
      code: 'invalid_request',
      message: 'The body is not JSON: line 1, column 1.',
    })
  })
})

describe('the length', () => {
  it('is refused at once where it is announced, and no byte is read', async () => {
    let read = 0
    const endless = (async function* () {
      for (;;) {
        read++
        yield utf8(' ')
      }
    })()
    const announced = { ...JSON_TYPE, 'content-length': '1001' }
    expect(await refusalOf(() => readJsonBody(requestOf({ headers: announced, body: endless }), OPTIONS))).toMatchObject({
      code: 'limit_exceeded',
    })
    expect(read).toBe(0)
    expect(await refusalOf(() => readJsonBody(requestOf({ headers: JSON_TYPE, body: endless }), OPTIONS))).toMatchObject({
      code: 'limit_exceeded',
    })
    expect(read).toBe(1001)
  })

  it('of exactly the limit is read', async () => {
    const body = JSON.stringify('x'.repeat(998))
    const headers = { ...JSON_TYPE, 'content-length': '1000' }
    expect(await readJsonBody(requestOf({ headers, body }), OPTIONS)).toBe('x'.repeat(998))
  })
})

describe('a body that a parser of the host has read', () => {
  it('is its value, of any content encoding', async () => {
    const parsed = { records: [{ fields: { a: [1, 'b', null, true] } }] }
    const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' }
    expect(await readJsonBody(requestOf({ headers, parsed }), OPTIONS)).toBe(parsed)
  })

  it.each([undefined, '', new Uint8Array(0)])('is absent if it is empty: %j', async (parsed) => {
    expect(await readJsonBody(requestOf({ parsed }), OPTIONS)).toBeUndefined()
  })

  it.each([
    ['text', '{"a":1}'],
    ['bytes', utf8('{"a":1}')],
  ])('as %s is parsed here', async (_, parsed) => {
    expect(await readJsonBody(requestOf({ headers: JSON_TYPE, parsed }), OPTIONS)).toEqual({ a: 1 })
  })

  const deep = JSON.parse('['.repeat(65) + ']'.repeat(65))
  const cyclic: unknown[] = []
  cyclic.push(cyclic)
  it.each([
    ['too deep', deep, 'limit_exceeded'],
    ['cyclic', cyclic, 'limit_exceeded'],
    ['too large', Array(100_001).fill(1), 'limit_exceeded'],
    ['text over the limit', ' '.repeat(1001), 'limit_exceeded'],
    ['a lone surrogate', { a: '\ud800' }, 'invalid_request'],
    ['a lone surrogate in a name', { '\udc00': 1 }, 'invalid_request'],
    ['an infinite number', [Number.POSITIVE_INFINITY], 'invalid_request'],
    ['an integer that a parser can have rounded', { a: [2 ** 53] }, 'invalid_request'],
    ['a function', { a: () => 1 }, 'invalid_request'],
    ['a bigint', [1n], 'invalid_request'],
    ['text that is not JSON', '{', 'invalid_request'],
    ['bytes that are not UTF-8', Uint8Array.of(0xff), 'invalid_request'],
  ])('is refused if it is %s', async (_, parsed, code) => {
    expect(await refusalOf(() => readJsonBody(requestOf({ headers: JSON_TYPE, parsed }), OPTIONS))).toMatchObject({ code })
  })

  it('is refused for another content type', async () => {
    const headers = { 'content-type': 'text/plain' }
    expect(await refusalOf(() => readJsonBody(requestOf({ headers, parsed: { a: 1 } }), OPTIONS))).toMatchObject({
      code: 'invalid_request',
    })
  })

  it('is refused if JSON was parsed as a form, and read if it was not', async () => {
    expect(
      await refusalOf(() => readJsonBody(requestOf({ headers: FORM_TYPE, parsed: { '{"a":"1"}': '' } }), OPTIONS)),
    ).toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('parser of forms'),
    })
    expect(await readJsonBody(requestOf({ headers: FORM_TYPE, parsed: { a: '1' } }), OPTIONS)).toEqual({ a: '1' })
  })
})
