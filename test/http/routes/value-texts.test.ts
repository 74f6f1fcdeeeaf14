/** Over HTTP a value to look up or to tokenize is its text, whatever the type of the column. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { column, createVault, defineSchema, type Vault } from '../../../src/index.ts'
import { serveVault } from '../../support/http/serve-vault.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const kept = { searchable: true, token: 'deterministic' } as const
const schema = defineSchema({
  things: {
    j: column.json(kept),
    list: column.array(kept),
    flag: column.boolean(kept),
    score: column.float(kept),
    number: column.integer(kept),
    seen: column.datetime(kept),
    phone: column.string({ ...kept, normalize: ['phone'] }),
  },
})

it('finds and tokenizes values of every type by their text, and ids and tokens in capitals', async () => {
  const vault = await createVault({ id: 'v1', schema, storage: memoryStorage(), keys: localKeys({ key: TEST_SECRET }) })
  const fields = {
    j: 1,
    list: [1, 'x'],
    flag: true,
    score: 0.5,
    number: 2n ** 60n,
    seen: '2026-01-31T12:00:00Z',
    phone: '+46 70 1',
  } as const
  const { records } = await vault.as(OWNER).insert('things', [{ fields: { j: '1' } }, { fields }], { tokenization: true })
  const [text, number] = records
  const served = await serveVault({ vault: vault as unknown as Vault })
  const texts = [
    ['j', '"1"', text],
    ['j', '1', number],
    ['list', '[1,"x"]', number],
    ['flag', 'true', number],
    ['score', '5e-1', number],
    ['number', String(2n ** 60n), number],
    ['seen', '2026-01-31T13:00:00+01:00', number],
    ['phone', '0046-701', number],
  ] as const
  for (const [name, value, record] of texts) {
    const { json } = await served.ask(
      'GET',
      `/v1/vaults/v1/things?column_name=${name}&column_values=${encodeURIComponent(value)}`,
    )
    expect(json.records, name).toMatchObject([{ fields: { svc_id: record?.id } }])
    const body = { tokenizationParameters: [{ value, table: 'things', column: name }] }
    expect((await served.ask('POST', '/v1/vaults/v1/tokenize', { body })).json.records).toEqual([{ token: record?.tokens[name] }])
  }
  const refused = await served.ask('GET', '/v1/vaults/v1/things?column_name=flag&column_values=yes')
  expect(refused.status).toBe(422)
  const ID = number?.id.toUpperCase() ?? ''
  expect((await served.ask('GET', `/v1/vaults/v1/things/${ID}`)).json).toMatchObject({ fields: { svc_id: number?.id } })
  const body = { detokenizationParameters: [{ token: number?.tokens.phone?.toUpperCase(), redaction: 'PLAIN_TEXT' }] }
  expect((await served.ask('POST', '/v1/vaults/v1/detokenize', { body })).json.records).toMatchObject([{ value: '+46 70 1' }])
  const batch = { records: [{ method: 'DELETE', tableName: 'things', ID }] }
  expect((await served.ask('POST', '/v1/vaults/v1', { body: batch })).json.responses).toEqual([
    { svc_id: number?.id, deleted: true },
  ])
  const absent = await served.ask('GET', '/v1/vaults/v1/things?column_name=phone&column_values=unknown')
  expect([absent.status, absent.json.records]).toEqual([200, []])
  await served.close()
})
