/** The edge to node:http: what goes over real sockets. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ServedVault, serveVault } from '../../support/http/serve-vault.ts'
import { memoryEngine } from '../../support/storages/engines.ts'

const PEOPLE = '/v1/vaults/v1/people'

describe('a server of node:http', () => {
  let served: ServedVault
  beforeAll(async () => {
    served = await serveVault({ storage: memoryEngine().fresh().open() })
  })
  afterAll(() => served.close())

  it('inserts a record and reads it', async () => {
    const inserted = await served.ask('POST', PEOPLE, { body: { records: [{ fields: { name: 'Ann' } }] } })
    expect(inserted.status).toBe(200)
    const id = inserted.json.records[0].svc_id
    const read = await served.ask('GET', `${PEOPLE}/${id}?redaction=PLAIN_TEXT`)
    expect(read.json.fields).toMatchObject({ svc_id: id, name: 'Ann' })
  })
})
