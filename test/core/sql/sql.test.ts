/** Tests of the `sql` tag: what becomes a parameter, what becomes text, and what is refused. */
import { describe, expect, it } from 'vitest'
import { createMatcher } from '../../../src/core/expressions/like.ts'
import type { SqlPiece } from '../../../src/core/sql/sql.ts'
import { escapeLike, isVaultError, type SqlQuery, sql } from '../../../src/index.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'
import { hostileInputs } from '../../support/vaults/hostile-inputs.ts'

const TEST_SECRET = "a secret ' OR TRUE --"

/** Calls `sql` with what a JavaScript caller can pass. */
function untyped(texts: unknown, ...pieces: unknown[]): SqlQuery {
  return Reflect.apply(sql, undefined, [texts, ...pieces])
}

function faultOf(make: () => unknown): { code: string; message: string } {
  try {
    make()
  } catch (error) {
    if (isVaultError(error)) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('nothing was refused')
}

function isMadeOrRefused(make: () => unknown): boolean {
  try {
    make()
    return true
  } catch (error) {
    return isVaultError(error, 'invalid_request')
  }
}

describe('sql', () => {
  it('makes parameters of its values', () => {
    const query = sql`SELECT name FROM t WHERE email = ${TEST_SECRET} AND (age > ${18} OR age = ${2n ** 64n}) AND active = ${true} OR x = ${null}`
    expect(query).toEqual({
      text: 'SELECT name FROM t WHERE email = $1 AND (age > $2 OR age = $3) AND active = $4 OR x = $5',
      values: [TEST_SECRET, 18, 2n ** 64n, true, null],
    })
    expect(sql`SELECT a FROM t`).toEqual({ text: 'SELECT a FROM t', values: [] })
  })

  it('numbers the values of its parts anew', () => {
    const adult = sql`age > ${18}`
    const either = sql`(${adult} OR name = ${'Bo'} OR ${sql`NOT ${adult}`})`
    expect(sql`SELECT name FROM t WHERE city = ${'Oslo'} AND ${either} LIMIT ${5}`).toEqual({
      text: 'SELECT name FROM t WHERE city = $1 AND (age > $2 OR name = $3 OR NOT age > $4) LIMIT $5',
      values: ['Oslo', 18, 'Bo', 18, 5],
    })
    expect(sql`${sql``}${adult}${sql``}`).toEqual({ text: 'age > $1', values: [18] })
  })

  it('joins parts and values, by default with commas', () => {
    const names = ['Ann', 'Bo', 'Cy'].map((name) => sql`name = ${name}`)
    expect(sql`SELECT * FROM t WHERE (${sql.join(names, sql` OR `)})`).toEqual({
      text: 'SELECT * FROM t WHERE (name = $1 OR name = $2 OR name = $3)',
      values: ['Ann', 'Bo', 'Cy'],
    })
    expect(sql.join([sql`a`, sql`b`, 3])).toEqual({ text: 'a, b, $1', values: [3] })
    expect(sql.join([1], sql` OR `)).toEqual({ text: '$1', values: [1] })
    expect(sql.join([1, 2], sql` + ${TEST_SECRET} + `)).toEqual({ text: '$1 + $2 + $3', values: [1, TEST_SECRET, 2] })
  })

  it('joins many parts in linear time', () => {
    const many = Array.from({ length: 100_000 }, (_, index) => sql`a = ${index}`)
    expect(sql.join(many, sql` OR `).values).toHaveLength(100_000)
  })

  it('makes objects that cannot change, and takes a Date as it is', () => {
    const date = new Date('2026-01-31T23:59:59.500Z')
    const query = sql`at > ${date}`
    date.setFullYear(1999)
    expect(query.values).toEqual(['2026-01-31T23:59:59.5Z'])
    expect(() => Object.assign(query, { text: 'x' })).toThrow(TypeError)
    expect(() => Reflect.apply(Array.prototype.push, query.values, [1])).toThrow(TypeError)
    expect(Object.isFrozen(sql)).toBe(true)
  })

  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['a list', [1, 2]],
    ['an object', { text: "' OR TRUE", values: [] }],
    ['a copy of a query', { ...sql`a = 1` }],
    ['NaN', Number.NaN],
    ['infinity', Number.POSITIVE_INFINITY],
    ['a long bigint', 2n ** 3000n],
    ['an invalid date', new Date(Number.NaN)],
    ['a date past year 9999', new Date(8.64e15)],
    ['a boxed text', new String('x')],
    ['a symbol', Symbol('x')],
    ['a function', () => 'x'],
    ['an object that says it is a date', { [Symbol.toStringTag]: 'Date', getTime: () => 0 }],
    ['a revoked proxy', revoked()],
  ])('refuses %s by its position', (_, value) => {
    expect(faultOf(() => sql`a = ${1} AND b = ${value as SqlPiece}`)).toEqual({
      code: 'invalid_request',
      message: 'Value 2 of sql must be a string, a finite number, a bigint, a boolean, null or a Date, or made by sql.',
    })
    expect(faultOf(() => sql.join([value as SqlPiece])).code).toBe('invalid_request')
  })

  it('refuses text that could be read as a part of a parameter', () => {
    const touching = 'A value of sql touches a word, a number or a value. Put a blank between them.'
    const own = 'A template of sql must not have $1 in its text. Interpolate the value.'
    expect(faultOf(() => sql`a = ${1}5`).message).toBe(touching)
    expect(faultOf(() => sql`a LIKE${TEST_SECRET}`).message).toBe(touching)
    expect(faultOf(() => sql`a = $${TEST_SECRET}`).message).toBe(touching)
    expect(faultOf(() => sql`a = ${1}${2}`).message).toBe(touching)
    expect(faultOf(() => sql`a = ${1}${sql`0`}`).message).toBe(touching)
    expect(faultOf(() => sql`a = $1 AND b = ${2}`).message).toBe(own)
    expect(faultOf(() => sql`a = ${sql`$`}${sql`1`}`).message).toBe(own)
    expect(sql`(${1},${2})`.text).toBe('($1,$2)')
  })

  it('refuses an empty list, and a separator that it did not make', () => {
    expect(faultOf(() => sql.join([])).message).toBe('sql.join takes a list that is not empty.')
    const separator = { text: ' OR TRUE OR ', values: [] } as unknown as SqlQuery
    expect(faultOf(() => sql.join([1, 2], separator)).message).toBe('The separator of sql.join must be made by sql.')
    expect(faultOf(() => sql.join('ab' as unknown as SqlPiece[])).code).toBe('invalid_request')
  })

  it('throws no error of an object that it was given', () => {
    for (const [name, input] of hostileInputs()) {
      for (const make of [
        () => untyped(input, input),
        () => Reflect.apply(sql.join, undefined, [input]),
        () => sql`a = ${input as SqlPiece}`,
      ]) {
        expect(isMadeOrRefused(make), name).toBe(true)
      }
    }
  })

  it('is not a function of a text', () => {
    for (const texts of ['SELECT', ['SELECT'], undefined, { raw: ['SELECT'], length: 1, 0: 'SELECT' }]) {
      expect(faultOf(() => untyped(texts)).code).toBe('invalid_request')
    }
    expect(faultOf(() => sql`\u{}`).message).toBe('The template of sql has an invalid escape.')
  })
})

describe('escapeLike', () => {
  it('makes a pattern that matches its text alone, and is part of a longer one', () => {
    const random = seededRandom('escape')
    const letters = ['a', 'b', '%', '_', '\\', '🦆', "'"]
    const text = () => Array.from({ length: random.below(6) }, () => random.pick(letters)).join('')
    for (let run = 0; run < 5000; run++) {
      const [one, other] = [text(), text()]
      expect(createMatcher(escapeLike(one), false)(other), `${other} LIKE ${one}`).toBe(one === other)
      expect(createMatcher(`%${escapeLike(one)}%`, false)(other), `${one} in ${other}`).toBe(other.includes(one))
    }
  })

  it('takes nothing but a string', () => {
    for (const [name, input] of hostileInputs()) {
      if (typeof input !== 'string') expect(faultOf(() => escapeLike(input as string)).code, name).toBe('invalid_request')
    }
  })
})

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}
