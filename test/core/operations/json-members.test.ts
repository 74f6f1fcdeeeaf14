/** The limit of members of JSON and ARRAY values: what has more is refused before it is sealed, digested or looked up, and the error names the limit. */
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { column, createVault, defineSchema, isVaultError } from '../../../src/index.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const schema = defineSchema({
  docs: {
    json: column.json({ searchable: true, token: 'deterministic', redaction: 'PLAIN_TEXT' }),
    array: column.array({ searchable: true, redaction: 'PLAIN_TEXT' }),
  },
})

async function open(maxJsonMembers?: number) {
  const limits = maxJsonMembers === undefined ? {} : { maxJsonMembers }
  const vault = await createVault({ id: 'v1', schema, storage: memoryStorage(), keys: localKeys({ key: TEST_SECRET }), limits })
  return vault.as(OWNER)
}

/** A list with this many members, itself included. Each inner list has one. */
function nested(members: number): (number | number[])[] {
  return [...new Array<number[]>(Math.floor((members - 1) / 2)).fill([1]), ...new Array<number>((members - 1) % 2).fill(1)]
}

async function refusalOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return isVaultError(error) ? `${error.code}: ${error.message}` : String(error)
}

const TOO_MANY =
  /^limit_exceeded: .*(json|array|item 0).* at most 10 members at all levels: split it, or raise limits\.maxJsonMembers/s
const TOO_MANY_IN_ALL = /^limit_exceeded: .*limits\.maxJsonMembers/s

describe('members of JSON and ARRAY values', () => {
  it('are 10,000 by default, counted at all levels', async () => {
    const session = await open()
    const { records } = await session.insert('docs', [{ fields: { json: nested(10_000), array: nested(10_000) } }])
    expect(await session.getOne('docs', records[0]?.id ?? '')).toMatchObject({ fields: { array: nested(10_000) } })
    const message = 'at most 10000 members at all levels: split it, or raise limits.maxJsonMembers'
    expect(await refusalOf(session.insert('docs', [{ fields: { json: nested(10_001) } }]))).toContain(message)
  })

  it('fit ten times into a request', async () => {
    const session = await open()
    const ten = Array.from({ length: 10 }, () => ({ fields: { json: nested(10_000) } }))
    const items = ten.map(({ fields }) => ({ insert: 'docs', fields }) as const)
    expect((await session.insert('docs', ten)).records).toHaveLength(10)
    expect((await session.batch(items)).responses).toHaveLength(10)
    const one = { fields: { array: [1] } }
    expect(await refusalOf(session.insert('docs', [...ten, one]))).toMatch(TOO_MANY_IN_ALL)
    const more = { insert: 'docs', ...one } as const
    expect(await refusalOf(session.batch([...items, more], { continueOnError: true }))).toMatch(TOO_MANY_IN_ALL)
  })

  it('count once for each record over which an update by the value of a column writes them', async () => {
    const session = await open(10)
    await session.insert(
      'docs',
      Array.from({ length: 20 }, (_, index) => ({ fields: { json: index % 2 } })),
    )
    const where = (members: number, ...values: number[]) =>
      session.updateWhere('docs', { json: values }, { array: nested(members) })
    expect((await where(10, 1)).records).toHaveLength(10)
    expect((await where(5, 0, 1)).records).toHaveLength(20)
    expect(await refusalOf(where(6, 0, 1))).toMatch(TOO_MANY_IN_ALL)
  })

  it('are limited for every verb that takes a value', async () => {
    const session = await open(10)
    const long = nested(11)
    const fits = { fields: { json: nested(10) } }
    const { records } = await session.insert('docs', [fits])
    const id = records[0]?.id ?? ''
    const where = { json: [nested(10)] } as const
    const refused: readonly (() => Promise<unknown>)[] = [
      () => session.insert('docs', [{ fields: { json: long } }]),
      () => session.insert('docs', [{ fields: { array: long } }], { onConflict: 'ignore' }),
      () => session.updateOne('docs', id, { json: long }),
      () => session.update('docs', [{ id, fields: { array: long } }]),
      () => session.updateWhere('docs', where, { json: long }),
      () => session.updateWhere('docs', { json: [long] }, { array: [] }),
      () => session.deleteWhere('docs', { json: [long] }),
      () => session.get('docs', { where: { json: [long] } }),
      () => session.tokenize([{ table: 'docs', column: 'json', value: long }]),
      () => session.batch([{ insert: 'docs', fields: { json: long } }]),
      () => session.batch([{ update: 'docs', id, fields: { json: long } }]),
    ]
    for (const [index, call] of refused.entries())
      expect([index, await refusalOf(call())]).toEqual([index, expect.stringMatching(TOO_MANY)])
    expect((await session.get('docs', { where })).records).toHaveLength(1)
  })

  it('are limited for the look-ups and tokens of a request together', async () => {
    const session = await open(10)
    const eleven = Array.from({ length: 11 }, (_, index) => [index, ...new Array<number>(8).fill(1)])
    expect(await refusalOf(session.get('docs', { where: { json: eleven } }))).toMatch(TOO_MANY_IN_ALL)
    const values = eleven.map((value) => ({ table: 'docs', column: 'json', value }) as const)
    expect(await refusalOf(session.tokenize(values))).toMatch(TOO_MANY_IN_ALL)
    const changes = Array.from({ length: 11 }, () => ({ id: OWNER.actor, fields: { json: eleven[0] ?? [] } }))
    expect(await refusalOf(session.update('docs', changes))).toMatch(TOO_MANY_IN_ALL)
  })

  it('do not limit what is stored already', async () => {
    const storage = memoryStorage()
    const keys = localKeys({ key: TEST_SECRET })
    const wide = await createVault({ id: 'v1', schema, storage, keys, limits: { maxJsonMembers: 50 } })
    const { records } = await wide.as(OWNER).insert('docs', [{ fields: { array: nested(50) } }])
    const narrow = await createVault({ id: 'v1', schema, storage, keys, limits: { maxJsonMembers: 1 } })
    const read = await narrow.as(OWNER).getOne('docs', records[0]?.id ?? '')
    expect(read.fields).toMatchObject({ array: nested(50) })
  })
})
