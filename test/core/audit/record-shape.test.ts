/** The recorded input of an operation: its shape, never a value. */
import { describe, expect, it } from 'vitest'
import { type Members, recordInput } from '../../../src/core/audit/record-shape.ts'
import { randomFor } from '../../support/random/seeded-random.ts'

const NAMES = new Set(['people', 'name', 'email', 'ssn'])
const isName = (text: string): boolean => NAMES.has(text)
const SHAPE: Members = {
  table: 'name',
  ids: 'value',
  fields: 'columns',
  columnName: 'name',
  redaction: ['MASKED', 'PLAIN_TEXT'],
  tokenization: 'flag',
  limit: 'number',
  offset: 'number',
  upsert: 'name',
  byot: ['DISABLE', 'ENABLE'],
  records: { fields: 'columns', tokens: 'columns', token: 'value', redaction: ['MASKED', 'PLAIN_TEXT'] },
  hidden: 'omitted',
}
const recorded = (input: Record<string, unknown>): unknown => JSON.parse(recordInput(input, SHAPE, isName))

describe('a recorded input', () => {
  it('keeps choices and replaces values', () => {
    const records = [{ fields: { name: 'Ann', email: null }, tokens: { name: 'tok' } }]
    expect(recorded({ table: 'people', records, tokenization: true, byot: 'ENABLE', upsert: 'email' })).toEqual({
      table: 'people',
      records: [{ fields: { name: '*REDACTED*', email: '*REDACTED*' }, tokens: { name: '*REDACTED*' } }],
      tokenization: true,
      byot: 'ENABLE',
      upsert: 'email',
    })
  })

  it('merges equal neighbors and counts them', () => {
    const one = { fields: { name: 'a' } }
    const other = { fields: { name: 'a', ssn: 'b' } }
    expect(recorded({ records: [one, { fields: { name: 'b' } }, one, other, one] })).toEqual({
      records: [
        { fields: { name: '*REDACTED*' }, times: 3 },
        { fields: { name: '*REDACTED*', ssn: '*REDACTED*' } },
        { fields: { name: '*REDACTED*' } },
      ],
    })
  })

  it('compares items by their own members, in order, whatever they inherit', () => {
    const item = (own: object, inherited: object | null): unknown => Object.assign(Object.create(inherited), own)
    const records = [
      item({ token: 't', redaction: 'MASKED' }, null),
      item({ token: 'u', redaction: 'MASKED' }, { hidden: 1 }),
      item({ token: 'v' }, { redaction: 'MASKED' }),
      item({ redaction: 'MASKED', token: 'w' }, null),
      item({ token: 'x', redaction: 'MASKED', more: 1 }, null),
    ]
    expect(recorded({ records })).toEqual({
      records: [
        { token: '*REDACTED*', redaction: 'MASKED', times: 2 },
        { token: '*REDACTED*' },
        { redaction: 'MASKED', token: '*REDACTED*' },
        { token: '*REDACTED*', redaction: 'MASKED', '*UNKNOWN*': '*REDACTED*' },
      ],
    })
  })

  it('counts lists of values and keeps lists of names', () => {
    expect(recorded({ ids: ['a', 'b', 'c'], fields: ['name', 'email', 'unknown'] })).toEqual({
      ids: [{ each: '*REDACTED*', times: 3 }],
      fields: ['name', 'email', '*REDACTED*'],
    })
  })

  it('keeps different choices apart', () => {
    const records = ['MASKED', 'MASKED', 'PLAIN_TEXT'].map((redaction, index) => ({ token: `t${index}`, redaction }))
    expect(recorded({ records })).toEqual({
      records: [
        { token: '*REDACTED*', redaction: 'MASKED', times: 2 },
        { token: '*REDACTED*', redaction: 'PLAIN_TEXT' },
      ],
    })
  })

  it('keeps a hundred different entries and counts the rest', () => {
    const records = Array.from({ length: 250 }, (_, index) => ({ fields: index % 2 === 0 ? { name: 1 } : { ssn: 1 } }))
    const kept = recorded({ records })
    expect(kept).toMatchObject({ records: expect.arrayContaining([{ more: 150 }]) })
  })

  it('leaves out members that are undefined or omitted', () => {
    expect(recorded({ upsert: undefined, tokenization: false, hidden: 'x' })).toEqual({ tokenization: false })
  })
})

describe('a recorded input never holds', () => {
  const SECRET = 'hunter2'
  it.each<[string, Record<string, unknown>]>([
    ['a value in a choice', { redaction: SECRET, tokenization: SECRET, limit: SECRET }],
    ['a value as a member', { [SECRET]: 1, records: [{ fields: { [SECRET]: 1 } }] }],
    ['a value as a table or column', { table: SECRET, columnName: SECRET, fields: [SECRET] }],
    ['a value inside a column', { records: [{ fields: { name: { [SECRET]: [SECRET] } } }] }],
    ['a value as a record', { records: [SECRET, [SECRET]] }],
    ['a value as the records', { records: SECRET }],
    ['values in place of fields', { records: [{ fields: SECRET }], ids: SECRET }],
  ])('%s', (_what, body) => {
    expect(JSON.stringify(recorded(body))).not.toContain(SECRET)
  })

  it('a number that is no integer', () => {
    expect(recorded({ limit: 4111.5, offset: Number.NaN })).toEqual({ limit: '*REDACTED*', offset: '*REDACTED*' })
  })

  it('a text of 2,000 random inputs, each of them a secret', () => {
    const random = randomFor('record-shape')
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
    for (let round = 0; round < 2000; round++) expect(recordInput({ records: body(0) }, SHAPE, isName)).not.toContain(SECRET)
  })

  it('more than a bounded part of an input that holds itself', () => {
    const body: Record<string, unknown> = {}
    body.records = [body]
    expect(JSON.stringify(recorded(body)).length).toBeLessThan(1000)
  })

  it('a polluted prototype', () => {
    expect(recorded(JSON.parse('{"__proto__":{"polluted":true},"records":[{"fields":{"__proto__":1}}]}'))).toBeDefined()
    expect({}).not.toHaveProperty('polluted')
  })
})

it.each([
  ['options', { table: 'people', options: { limit: 3, flag: true } }],
  ['no options', { table: 'people', limit: 3 }],
  ['options that the input has itself', { table: 'people', limit: undefined, options: { table: 'other', limit: 3 } }],
  ['options of options', { options: { options: 1, limit: 2 } }],
  ['options of a prototype', { limit: 1, options: JSON.parse('{"__proto__":{"limit":2},"limit":3}') }],
  ['options that are a list', { limit: 1, options: [1, 2] }],
  ['options that are no object', { limit: 1, options: 'limit' }],
  [
    'more options than are recorded',
    { limit: 1, options: Object.fromEntries(Array.from({ length: 1200 }, (_, i) => [`x${i}`, i])) },
  ],
])('records the members of %s like those of the input', (_what, input: Readonly<Record<string, unknown>>) => {
  const { options, ...members } = input
  const merged = typeof options === 'object' ? { ...members, ...options, ...members } : members
  // A member of the options that has their own name is recorded as any unknown name is.
  const renamed = Object.entries(merged).map(([name, value]) => [name === 'options' ? 'unknown' : name, value])
  expect(JSON.parse(recordInput(input, SHAPE, isName))).toEqual(recorded(Object.fromEntries(renamed)))
})
