/** Items of a batch that mean the record of an earlier item. */
import { expect, it } from 'vitest'
import { type BatchItem, column } from '../../../src/index.ts'
import { callerOf } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const TABLES = {
  people: {
    name: column.string({ redaction: 'PLAIN_TEXT' }),
    email: column.string({ unique: true, redaction: 'PLAIN_TEXT' }),
  },
  pets: { name: column.string({ redaction: 'PLAIN_TEXT' }) },
}
const POLICY = { keeper: ["ALLOW ALL ON people.* WITH REDACTION = PLAIN_TEXT WHERE name = 'Ann'"] }

const post = (name: string, email = `${name}@acme.example`) => ({ insert: 'people', fields: { name, email } }) as const
const read = (response: unknown) => ({ get: 'people', id: { response } }) as BatchItem
const rename = (response: number, name: string): BatchItem => ({
  update: 'people',
  id: { response },
  fields: { name },
})
const remove = (response: number): BatchItem => ({ delete: 'people', id: { response } })

onEachStorage('a reference inside a batch', (engine) => {
  async function open() {
    const { vault } = await openLoose(engine.fresh().open(), TABLES, { policy: POLICY })
    const owner = vault.as(OWNER)
    const run = async (items: readonly unknown[], continueOnError = false, as = owner) => {
      const { responses } = await as.perform('batch', { items: items as never, options: { continueOnError } })
      return responses.map((one): unknown => (one.ok ? one.value : one.error))
    }
    return { vault, owner, run }
  }

  it('means the record that an earlier item inserted, updated or read, in every method', async () => {
    const { vault, owner, run } = await open()
    const items = [post('Ann'), post('Bo'), read(0), rename(1, 'Bob'), read(3), read(4), remove(2), post('Cy'), read(7)]
    const answers = (await run(items)).map((one) => Object(one))
    const [ann, bo] = [answers[0].id, answers[1].id]
    expect(answers.slice(2, 7)).toMatchObject([
      { id: ann, fields: { name: 'Ann' } },
      { id: bo },
      { id: bo, fields: { name: 'Bob' } },
      { id: bo, fields: { name: 'Bob' } },
      { id: ann, deleted: true },
    ])
    expect(answers[8]).toMatchObject({ id: answers[7].id, fields: { name: 'Cy' } })
    expect((await owner.get('people')).records.map(({ fields }) => fields.name)).toEqual(['Bob', 'Cy'])
    const { events } = await owner.listEvents({ filterOps: { accountID: 'v1' } })
    const nested = events.find(({ request }) => request.actionType === 'BATCH')?.response.nestedResponse ?? []
    expect(nested.map(({ identifier }) => identifier)).toEqual(
      [ann, bo, ann, bo, bo, bo, ann, answers[7].id, answers[7].id].map((id) => `RECORD/${id}`),
    )
    expect((await vault.verifyAudit()).ok).toBe(true)
  })

  it('sees what earlier items did to the same record by its id', async () => {
    const { owner, run } = await open()
    const { records } = await owner.insert('people', [{ fields: { name: 'Ann', email: 'ann@acme.example' } }])
    const id = records[0]?.id ?? ''
    const answers = await run([
      { get: 'people', id },
      { update: 'people', id, fields: { name: 'Eva' } },
      read(0),
      { ...post('Eve', 'ann@acme.example'), upsert: 'email' },
      read(3),
    ])
    expect(answers).toMatchObject([{ fields: { name: 'Ann' } }, { id }, { fields: { name: 'Eva' } }, {}, { id }])
    expect(answers[4]).toMatchObject({ fields: { name: 'Eve' } })
  })

  it('fails with not_found, alone or with its batch, if the earlier item failed', async () => {
    const { owner, run } = await open()
    const items = [
      post('Ann'),
      post('Bo', 'Ann@acme.example'),
      read(1),
      read(2),
      rename(1, 'x'),
      read(0),
      { list: 'people' },
      read(6),
    ]
    const answers = await run(items, true)
    expect(answers).toMatchObject([
      { id: expect.any(String) },
      { code: 'conflict' },
      { code: 'not_found', message: 'Get failed. id refers to the record of item 1, which failed.' },
      { code: 'not_found', message: 'Get failed. id refers to the record of item 2, which failed.' },
      { code: 'not_found', message: 'Update failed. id refers to the record of item 1, which failed.' },
      { fields: { name: 'Ann' } },
      { code: 'invalid_request' },
      { code: 'not_found' },
    ])
    expect((await owner.get('people')).records).toHaveLength(1)
    await expect(run([post('Cy'), { ...read(0), get: 'pets' }])).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringMatching(/^Batch failed\. Item 1: Get failed\. No record of table "pets"/),
      details: [{ index: 1 }],
    })
    expect((await owner.get('people')).records).toHaveLength(1)
  })

  it('is refused if no earlier item with a record has its position', async () => {
    const { run } = await open()
    const wrong = [-1, 0.5, 1, 2, '0', null, undefined, Number.NaN]
    for (const response of wrong)
      await expect(run([post('Ann'), read(response)]), String(response)).rejects.toMatchObject({
        code: 'invalid_request',
        details: [{ index: 1 }],
      })
    for (const id of [{}, { response: 0, more: 1 }, [0], 0, '', { index: 0 }])
      await expect(run([post('Ann'), { ...read(0), id }])).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(run([post('Ann'), remove(0), read(1)])).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('id refers to an item that deletes its record.'),
    })
    await expect(run([{ ...post('Ann'), id: { response: 0 } }])).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('reaches no record that the caller cannot reach by its id', async () => {
    const { vault, owner, run } = await open()
    const keeper = vault.as(callerOf('keeper'))
    const answers = await run([post('Ann'), rename(0, 'Bo'), read(0), remove(0)], true, keeper)
    expect(answers).toMatchObject([
      { id: expect.any(String) },
      { code: 'forbidden' },
      { fields: { name: 'Ann' } },
      { deleted: true },
    ])
    expect((await owner.get('people')).records).toEqual([])
  })
})
