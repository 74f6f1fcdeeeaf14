/** Every invalid input gives its own error, stores nothing and pollutes no prototype. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const SECRET_LOOKING = '555-44-3333'

async function session() {
  const vault = await openPeople(memoryStorage())
  return vault.as(OWNER)
}

/** Calls without types, as JavaScript callers make them. */
type Untyped = Record<
  'insert' | 'get' | 'getOne' | 'updateOne' | 'delete' | 'deleteOne' | 'detokenize',
  (...given: unknown[]) => Promise<unknown>
>

async function untyped(): Promise<Untyped> {
  const typed: unknown = await session()
  return typed as Untyped
}

const good = { name: 'Ann' }

const badInserts: readonly [why: string, args: unknown[], answer: { code: string; grpcCode?: number }][] = [
  ['an unknown table', ['unknown', [{ fields: good }]], { code: 'not_found', grpcCode: 5 }],
  ['a table that is no text', [{}, [{ fields: good }]], { code: 'not_found', grpcCode: 5 }],
  ['an inherited name as a table', ['__proto__', [{ fields: good }]], { code: 'not_found' }],
  ['no records', ['people', []], { code: 'invalid_request' }],
  ['records that are no list', ['people', { fields: good }], { code: 'invalid_request' }],
  ['a missing list', ['people'], { code: 'invalid_request' }],
  ['too many records', ['people', new Array(1001).fill({ fields: good })], { code: 'limit_exceeded', grpcCode: 8 }],
  ['a record that is null', ['people', [null]], { code: 'invalid_request' }],
  ['a record without fields', ['people', [{}]], { code: 'invalid_request' }],
  ['fields that are a list', ['people', [{ fields: ['Ann'] }]], { code: 'invalid_request' }],
  ['fields that are text', ['people', [{ fields: 'Ann' }]], { code: 'invalid_request' }],
  ['an unknown column', ['people', [{ fields: { ...good, [SECRET_LOOKING]: 1 } }]], { code: 'invalid_request' }],
  [
    '__proto__ as a column',
    ['people', [{ fields: JSON.parse('{"name":"Ann","__proto__":{"polluted":1}}') }]],
    { code: 'invalid_request' },
  ],
  ['constructor as a column', ['people', [{ fields: { ...good, constructor: 'x' } }]], { code: 'invalid_request' }],
  ['a required column missing', ['people', [{ fields: { country: 'SE' } }]], { code: 'unprocessable' }],
  ['a required column null', ['people', [{ fields: { name: null } }]], { code: 'unprocessable' }],
  ['a number for text', ['people', [{ fields: { name: 5 } }]], { code: 'unprocessable' }],
  ['text past maxLength', ['people', [{ fields: { name: 'x'.repeat(41) } }]], { code: 'unprocessable' }],
  ['text that does not match its pattern', ['people', [{ fields: { ...good, ssn: '123456789' } }]], { code: 'unprocessable' }],
  ['text that is not in its list', ['people', [{ fields: { ...good, country: 'XX' } }]], { code: 'unprocessable' }],
  ['a lone surrogate', ['people', [{ fields: { name: 'a\ud800b' } }]], { code: 'unprocessable' }],
  ['a lone surrogate deep in JSON', ['people', [{ fields: { ...good, notes: { a: ['\udc00'] } } }]], { code: 'unprocessable' }],
  ['1.5 as an integer', ['people', [{ fields: { ...good, salary: 1.5 } }]], { code: 'unprocessable' }],
  ['a number past 2^53', ['people', [{ fields: { ...good, salary: 2 ** 53 } }]], { code: 'unprocessable' }],
  ['an integer past 64 bits', ['people', [{ fields: { ...good, salary: '9223372036854775808' } }]], { code: 'unprocessable' }],
  ['an infinite float', ['people', [{ fields: { ...good, score: Number.POSITIVE_INFINITY } }]], { code: 'unprocessable' }],
  ['no float', ['people', [{ fields: { ...good, score: Number.NaN } }]], { code: 'unprocessable' }],
  ['"true" as a boolean', ['people', [{ fields: { ...good, active: 'true' } }]], { code: 'unprocessable' }],
  ['a day that does not exist', ['people', [{ fields: { ...good, born: '2026-02-30' } }]], { code: 'unprocessable' }],
  [
    'a date-time without its offset',
    ['people', [{ fields: { ...good, seen: '2026-01-01T00:00:00' } }]],
    { code: 'unprocessable' },
  ],
  ['a scalar for a list', ['people', [{ fields: { ...good, tags: 'x' } }]], { code: 'unprocessable' }],
  [
    'JSON deeper than 64',
    ['people', [{ fields: { ...good, notes: JSON.parse('['.repeat(65) + ']'.repeat(65)) } }]],
    { code: 'unprocessable' },
  ],
  [
    'a unique text past 2,500 characters',
    ['people', [{ fields: { ...good, email: 'x'.repeat(2501) } }]],
    { code: 'unprocessable' },
  ],
  ['an unknown option', ['people', [{ fields: good }], { tokenizations: true }], { code: 'invalid_request' }],
  ['options that are no object', ['people', [{ fields: good }], 'tokenization'], { code: 'invalid_request' }],
  ['a flag that is no boolean', ['people', [{ fields: good }], { tokenization: 1 }], { code: 'invalid_request' }],
  ['an upsert column that is not unique', ['people', [{ fields: good }], { upsert: 'name' }], { code: 'unprocessable' }],
  ['an upsert column that does not exist', ['people', [{ fields: good }], { upsert: 'nope' }], { code: 'invalid_request' }],
  ['an upsert without its value', ['people', [{ fields: good }], { upsert: 'email' }], { code: 'unprocessable' }],
  [
    'an upsert of the homogeneous',
    ['people', [{ fields: good }], { upsert: 'email', homogeneous: true }],
    { code: 'invalid_request' },
  ],
  [
    'the homogeneous that differ',
    ['people', [{ fields: good }, { fields: { ...good, country: 'SE' } }], { homogeneous: true }],
    { code: 'unprocessable' },
  ],
]

it.each(badInserts)('insert rejects %s', async (_why, args, answer) => {
  const people = await untyped()
  const refused = people.insert(...args)
  await expect(refused).rejects.toMatchObject({ name: 'VaultError', ...answer })
  const error = await refused.catch((caught: Error) => caught)
  expect(JSON.stringify(error) + String((error as Error).message)).not.toContain(SECRET_LOOKING)
  expect(await people.get('people')).toEqual({ records: [] })
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

const id = '00000000-0000-4000-8000-000000000000'

const badReads: readonly [why: string, args: unknown[], answer: { code: string; grpcCode?: number }][] = [
  ['an unknown table', ['unknown', {}], { code: 'not_found' }],
  ['an unknown level', ['people', { redaction: 'plain_text' }], { code: 'invalid_request' }],
  ['an unknown field', ['people', { fields: ['nope'] }], { code: 'invalid_request' }],
  ['no fields', ['people', { fields: [] }], { code: 'invalid_request' }],
  ['fields that are text', ['people', { fields: 'name' }], { code: 'invalid_request' }],
  ['tokens in plain', ['people', { tokenization: true, redaction: 'PLAIN_TEXT' }], { code: 'invalid_request' }],
  ['no ids', ['people', { ids: [] }], { code: 'invalid_request' }],
  ['ids and no limit', ['people', { ids: [id], limit: 0 }], { code: 'out_of_range' }],
  ['ids and an unknown order', ['people', { ids: [id], orderBy: 'UP' }], { code: 'invalid_request' }],
  ['ids and values to look up', ['people', { ids: [id], where: { email: [] } }], { code: 'invalid_request' }],
  ['ids and a look-up', ['people', { ids: [id], where: { email: 'x' } }], { code: 'invalid_request' }],
  ['ids that are no texts', ['people', { ids: [5] }], { code: 'not_found' }],
  ['a column without values', ['people', { where: { email: undefined } }], { code: 'invalid_request' }],
  ['values without a column', ['people', { where: {} }], { code: 'invalid_request' }],
  ['a value that is not compared', ['people', { where: { notes: 'x' } }], { code: 'unprocessable' }],
  ['an unknown column beside another', ['people', { where: { name: 'x', nope: 1 } }], { code: 'invalid_request' }],
  ['a range without a bound', ['people', { where: { born: {} } }], { code: 'invalid_request' }],
  ['a bound that is undefined', ['people', { where: { born: { from: undefined } } }], { code: 'invalid_request' }],
  ['a bound that is null', ['people', { where: { born: { from: null } } }], { code: 'invalid_request' }],
  ['an unknown bound', ['people', { where: { born: { gte: '2000-01-01' } } }], { code: 'invalid_request' }],
  ['a bound of another type', ['people', { where: { born: { from: 'soon' } } }], { code: 'unprocessable' }],
  ['a range of what is not compared', ['people', { where: { tags: { from: [1] } } }], { code: 'unprocessable' }],
  ['the beginning of a number', ['people', { where: { salary: { prefix: '1' } } }], { code: 'unprocessable' }],
  ['an empty beginning', ['people', { where: { name: { prefix: '' } } }], { code: 'unprocessable' }],
  ['an order by what is not compared', ['people', { orderBy: 'notes' }], { code: 'unprocessable' }],
  ['an order by no column', ['people', { orderBy: { order: 'DESCENDING' } }], { code: 'invalid_request' }],
  ['an unknown order by a column', ['people', { orderBy: { column: 'born', order: 'NONE' } }], { code: 'invalid_request' }],
  ['ids and an order by a column', ['people', { ids: [id], orderBy: 'born' }], { code: 'invalid_request' }],
  ['an order by a column that goes on', ['people', { orderBy: 'born', resumable: true }], { code: 'invalid_request' }],
  ['a cursor and an offset', ['people', { orderBy: 'born', after: 'x', offset: 1 }], { code: 'invalid_request' }],
  ['no cursor in the order of a column', ['people', { orderBy: 'born', after: 'x' }], { code: 'invalid_request' }],
  ['a value of another type', ['people', { where: { born: 'soon' } }], { code: 'unprocessable' }],
  ['a null to look up', ['people', { where: { email: [null] } }], { code: 'unprocessable' }],
  ['a limit of zero', ['people', { limit: 0 }], { code: 'out_of_range', grpcCode: 11 }],
  ['a limit past the page', ['people', { limit: 1001 }], { code: 'out_of_range', grpcCode: 11 }],
  ['a limit that is text', ['people', { limit: '5' }], { code: 'out_of_range', grpcCode: 11 }],
  ['a negative offset', ['people', { offset: -1 }], { code: 'out_of_range', grpcCode: 11 }],
  ['an unknown order', ['people', { orderBy: 'ascending' }], { code: 'invalid_request' }],
]

it.each(badReads)('get rejects %s', async (_why, args, answer) => {
  const people = await untyped()
  await expect(people.get(...args)).rejects.toMatchObject({ name: 'VaultError', ...answer })
})

it('get takes one value for a list of it, and insert an empty upsert as absent', async () => {
  const people = await untyped()
  expect(await people.get('people', { where: { email: 'x' } })).toEqual({ records: [] })
  await expect(people.insert('people', [{ fields: good }], { upsert: '' })).resolves.toBeDefined()
})

it('update rejects no fields, unknown columns and null in required columns', async () => {
  const people = await untyped()
  await expect(people.updateOne('people', id, {})).rejects.toMatchObject({ code: 'invalid_request' })
  await expect(people.updateOne('people', id, undefined)).rejects.toMatchObject({ code: 'invalid_request' })
  await expect(people.updateOne('people', id, { nope: 1 })).rejects.toMatchObject({ code: 'invalid_request' })
  await expect(people.updateOne('people', id, { name: null })).rejects.toMatchObject({ code: 'unprocessable' })
  await expect(people.updateOne('people', id, good)).rejects.toMatchObject({ code: 'not_found' })
})

it('"*" deletes all records only alone, not beside ids, and not as the id of one record', async () => {
  const people = await untyped()
  await people.insert('people', [{ fields: good }])
  await expect(people.deleteOne('people', '*')).rejects.toMatchObject({ code: 'invalid_request' })
  for (const ids of [['*', id], [id, '*'], ['*', '*'], ['**'], [['*']]])
    await expect(people.delete('people', ids)).rejects.toMatchObject({ name: 'VaultError' })
  expect(await people.get('people')).toMatchObject({ records: [{}] })
  expect(await people.delete('people', '*')).toEqual({ ids: ['*'] })
  expect(await people.get('people')).toEqual({ records: [] })
  await people.insert('people', [{ fields: good }])
  expect(await people.delete('people', ['*'])).toEqual({ ids: ['*'] })
  expect(await people.get('people')).toEqual({ records: [] })
})

it('sparse lists and objects that only look like records are rejected', async () => {
  const people = await untyped()
  await expect(people.insert('people', new Array(3))).rejects.toMatchObject({ code: 'invalid_request' })
  await expect(people.get('people', { ids: new Array(3) })).rejects.toMatchObject({ code: 'not_found' })
  await expect(people.get('people', { ids: [Symbol('x')] })).rejects.toMatchObject({ code: 'not_found' })
  for (const fields of [new Map([['name', 'Ann']]), new Date(0), () => good]) {
    await expect(people.insert('people', [{ fields }])).rejects.toMatchObject({ code: 'invalid_request' })
  }
  expect(await people.get('people')).toEqual({ records: [] })
})

it('delete rejects an empty list, "*" beside ids, and values that are not lists', async () => {
  const people = await untyped()
  await expect(people.delete('people', [])).rejects.toMatchObject({ code: 'invalid_request' })
  await expect(people.delete('people', ['*', id])).rejects.toMatchObject({ code: 'invalid_request' })
  await expect(people.delete('people', id)).rejects.toMatchObject({ code: 'invalid_request' })
  await expect(people.deleteOne('people', id)).rejects.toMatchObject({ code: 'not_found' })
})

it('detokenize rejects values that are not strings, and tokens that are too long', async () => {
  const people = await untyped()
  await expect(people.detokenize([])).rejects.toMatchObject({ code: 'invalid_request' })
  await expect(people.detokenize([{}])).rejects.toMatchObject({ code: 'invalid_request', details: [{ index: 0 }] })
  await expect(people.detokenize([null])).rejects.toMatchObject({ code: 'invalid_request' })
  await expect(people.detokenize([{ token: id, redaction: 'masked' }])).rejects.toMatchObject({ code: 'invalid_request' })
  await expect(people.detokenize([{ token: 'x'.repeat(1_000_000) }])).rejects.toMatchObject({
    code: 'limit_exceeded',
    grpcCode: 8,
  })
  await expect(people.detokenize([{ token: id }])).rejects.toMatchObject({ code: 'not_found' })
})

it('an unknown id is not repeated in the error, because it may be a value', async () => {
  const people = await session()
  const error: unknown = await people.getOne('people', SECRET_LOOKING).catch((caught: unknown) => caught)
  expect(JSON.stringify(error) + String(error)).not.toContain(SECRET_LOOKING)
})

it('a caller of an invalid shape is rejected', async () => {
  const vault = await openPeople(memoryStorage())
  const untypedVault: { as(caller: unknown): unknown } = vault as never
  for (const caller of [
    undefined,
    null,
    {},
    { ...OWNER, roles: 'VAULT_OWNER' },
    { ...OWNER, actorType: 'ROBOT' },
    { ...OWNER, extra: 1 },
  ]) {
    expect(() => untypedVault.as(caller)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  }
})
