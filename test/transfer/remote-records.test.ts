/** Imports and exports of a session over HTTP: the same as in process. */
import { expect, it, onTestFinished } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { connectVault } from '../../src/client/index.ts'
import { exportRecords } from '../../src/transfer/index.ts'
import { OWNER_CREDENTIAL } from '../support/http/ask.ts'
import { serveVault } from '../support/http/serve-vault.ts'
import { importText } from '../support/transfer/imported.ts'
import { OWNER, type people } from '../support/vaults/test-vault.ts'

it('imports and exports through the client, and a batch that is sent again is stored once', async () => {
  const served = await serveVault({ storage: memoryStorage() })
  onTestFinished(served.close)
  let lost = 0
  // The answer to every third request is lost after the vault has performed it.
  const unreliable: typeof fetch = async (...request) => {
    const response = await fetch(...request)
    if (++lost % 3 === 0) throw new TypeError('connection reset')
    return response
  }
  const url = `http://127.0.0.1:${served.port}`
  const session = connectVault<typeof people>({ url, vaultId: 'v1', credentials: OWNER_CREDENTIAL, fetch: unreliable })
  const rows = Array.from({ length: 20 }, (_, n) => `Person ${n},${n % 7 === 0 ? 'x' : n}\n`)
  const text = `name,salary\n${rows.join('')}`
  for (const name of ['named', undefined]) {
    const imported = await importText(session, text, { table: 'people', batchSize: 4, ...(name !== undefined && { name }) })
    expect(imported).toMatchObject({ records: 20, stored: 17, rejected: 3 })
    expect(imported.rejects.map(({ line, column }) => [line, column])).toEqual([2, 9, 16].map((line) => [line, 'salary']))
  }
  const bytes: Uint8Array[] = []
  for await (const piece of exportRecords(session, {
    table: 'people',
    format: 'csv',
    columns: ['salary'],
    redaction: 'PLAIN_TEXT',
    pageSize: 9,
  }))
    bytes.push(piece)
  const numbers = rows.flatMap((row) => row.match(/\d+(?=\n)/g) ?? [])
  expect(Buffer.concat(bytes).toString().trim().split('\r\n')).toEqual(['salary', ...numbers, ...numbers])
  expect(await served.vault.as(OWNER).get('people', { limit: 100 })).toMatchObject({ records: { length: 34 } })
})
