/** What an event keeps of a body: its shape, never a value of it. */
import { describe, expect, test } from 'vitest'
import { foldBody } from '../../../src/core/audit/fold-content.ts'
import { seededRandom } from '../../support/seeded-random.ts'

const NAMES = new Set(['people', 'name', 'email', 'ssn'])
const fold = (body: unknown): unknown => JSON.parse(foldBody(body, (text) => NAMES.has(text)))

describe('a body is told', () => {
  test('with its choices as they are and its values replaced', () => {
    const records = [{ fields: { name: 'Ann', email: null }, tokens: { name: 'tok' } }]
    expect(fold({ table: 'people', records, tokenization: true, byot: 'ENABLE', upsert: 'email' })).toEqual({
      table: 'people',
      records: [{ fields: { name: '*REDACTED*', email: '*REDACTED*' }, tokens: { name: '*REDACTED*' } }],
      tokenization: true,
      byot: 'ENABLE',
      upsert: 'email',
    })
  })

  test('with equal neighbours once, and their number', () => {
    const one = { fields: { name: 'a' } }
    const other = { fields: { name: 'a', ssn: 'b' } }
    expect(fold({ records: [one, { fields: { name: 'b' } }, one, other, one] })).toEqual({
      records: [
        { fields: { name: '*REDACTED*' }, times: 3 },
        { fields: { name: '*REDACTED*', ssn: '*REDACTED*' } },
        { fields: { name: '*REDACTED*' } },
      ],
    })
  })

  test('with lists of values as their number, and lists of names by name', () => {
    expect(fold({ ids: ['a', 'b', 'c'], fields: ['name', 'email', 'nobody'] })).toEqual({
      ids: [{ each: '*REDACTED*', times: 3 }],
      fields: ['name', 'email', '*REDACTED*'],
    })
  })

  test('with different choices apart', () => {
    const records = ['MASKED', 'MASKED', 'PLAIN_TEXT'].map((redaction, index) => ({ token: `t${index}`, redaction }))
    expect(fold({ records })).toEqual({
      records: [
        { token: '*REDACTED*', redaction: 'MASKED', times: 2 },
        { token: '*REDACTED*', redaction: 'PLAIN_TEXT' },
      ],
    })
  })

  test('as far as a hundred different entries, and how many more there are', () => {
    const records = Array.from({ length: 250 }, (_, index) => ({ fields: index % 2 === 0 ? { name: 1 } : { ssn: 1 } }))
    const told = fold({ records })
    expect(told).toMatchObject({ records: expect.arrayContaining([{ more: 150 }]) })
  })

  test('without members that are undefined', () => {
    expect(fold({ upsert: undefined, tokenization: false })).toEqual({ tokenization: false })
  })
})

describe('nothing but words of the vault and its schema passes', () => {
  const SECRET = 'hunter2'
  test.each<[string, unknown]>([
    ['a value in a choice', { redaction: SECRET, tokenization: SECRET, limit: SECRET }],
    ['a value as a member', { [SECRET]: 1, records: [{ fields: { [SECRET]: 1 } }] }],
    ['a value as a table or column', { table: SECRET, columnName: SECRET, fields: [SECRET] }],
    ['a value inside a column', { records: [{ fields: { name: { [SECRET]: [SECRET] } } }] }],
    ['a value as a record', { records: [SECRET, [SECRET]] }],
    ['a value as the body', SECRET],
    ['values in place of fields', { records: [{ fields: SECRET }], ids: SECRET }],
  ])('not %s', (_what, body) => {
    expect(JSON.stringify(fold(body))).not.toContain(SECRET)
  })

  test('and a choice that is a large or broken number does not', () => {
    expect(fold({ limit: 4111.5, offset: Number.NaN })).toEqual({ limit: '*REDACTED*', offset: '*REDACTED*' })
  })

  test('whatever the body: 2,000 random ones, with every text and number in them a secret', () => {
    const random = seededRandom('fold')
    const members = ['records', 'fields', 'tokens', 'table', 'redaction', 'value', 'ids', 'more', 'name', 'orderBy']
    const body = (depth: number): unknown => {
      const kind = Math.floor(random() * (depth > 5 ? 2 : 4))
      if (kind === 0) return `${SECRET}${random()}`
      if (kind === 1) return null
      const parts = Array.from({ length: Math.floor(random() * 4) }, () => body(depth + 1))
      if (kind === 2) return parts
      return Object.fromEntries(
        parts.map((part) => [random() < 0.1 ? SECRET : members[Math.floor(random() * members.length)], part]),
      )
    }
    for (let round = 0; round < 2000; round++) expect(foldBody(body(0), (text) => NAMES.has(text))).not.toContain(SECRET)
  })

  test('and a body that holds itself comes to an end', () => {
    const body: Record<string, unknown> = {}
    body.records = [body]
    expect(JSON.stringify(fold(body)).length).toBeLessThan(1000)
  })

  test('and a member named __proto__ pollutes nothing', () => {
    expect(fold(JSON.parse('{"__proto__":{"polluted":true},"records":[{"fields":{"__proto__":1}}]}'))).toBeDefined()
    expect({}).not.toHaveProperty('polluted')
  })
})
