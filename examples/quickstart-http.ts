/** The vault over HTTP from start to end: a server on a spare port, a session of requests with their responses, and the events of them. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { column, createVault, defineSchema, mask } from 'strongroom'
import { answerClientError, apiKeys, createApiKey, createHandler, toNodeHandler } from 'strongroom/http'
import { localKeys } from 'strongroom/keys'
import { sqliteStorage } from 'strongroom/sqlite'
import { createClient, textAt } from './http-client.ts'
import { heading, line } from './terminal.ts'

const LETTER = join(import.meta.dirname, '../LICENSE')
const folder = mkdtempSync(join(tmpdir(), 'strongroom-quickstart-http-'))

heading('1. A vault, two API keys, and a server')
const vault = await createVault({
  id: 'quickstart',
  schema: defineSchema({
    customers: {
      name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
      email: column.string({ unique: true, redaction: 'MASKED', mask: mask.email, token: 'deterministic' }),
      country: column.string({ encrypted: false, redaction: 'PLAIN_TEXT' }),
      letter: column.file({ redaction: 'PLAIN_TEXT', allowedTypes: ['text/plain'] }),
    },
    orders: {
      customer: column.string({ encrypted: false, redaction: 'PLAIN_TEXT' }),
      total: column.integer({ redaction: 'PLAIN_TEXT' }),
    },
  }),
  policy: { support: ['ALLOW READ, DETOKENIZATION ON customers.* WITH REDACTION = MASKED'] },
  storage: sqliteStorage({ filename: join(folder, 'vault.db') }),
  keys: localKeys({ file: join(folder, 'vault.key') }),
})
const owner = vault.as({ actor: 'ann@acme.example', actorType: 'USER', roles: ['VAULT_OWNER'] })
const billing = await createApiKey(owner, { name: 'billing', roles: ['VAULT_OWNER'] })
const support = await createApiKey(owner, { name: 'support', roles: ['support'] })

const handler = createHandler({ vaults: vault, authenticate: apiKeys() })
const server = createServer(toNodeHandler(handler)).on('clientError', answerClientError)
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const address = server.address()
const base = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
line(`The server listens at ${base}. The vault is a SQLite file in a temporary folder.`)
line('"billing" owns the vault. "support" sees customers masked. Each request has its key as Authorization: Bearer sr_…')
const send = createClient(base, billing.apiKey)
const sendAsSupport = createClient(base, support.apiKey)

heading('2. Insert: send values, receive tokens')
const customers = '/v1/vaults/quickstart/customers'
const ann = { name: 'Ann Bell', email: 'ann@acme.example', country: 'SE' }
const inserted = await send('POST', customers, { body: { records: [{ fields: ann }], tokenization: true } })
const id = textAt(inserted, 'records', 0, 'svc_id')

heading('3. Get: values at the level of their columns')
await send('GET', `${customers}/${id}`)

heading('4. Detokenize: the value to billing, a masked one to support, whatever it asks for')
const token = textAt(inserted, 'records', 0, 'tokens', 'name')
const detokenize = { body: { detokenizationParameters: [{ token, redaction: 'PLAIN_TEXT' }] } }
await send('POST', '/v1/vaults/quickstart/detokenize', detokenize)
await sendAsSupport('POST', '/v1/vaults/quickstart/detokenize', detokenize)

heading('5. Tokenize: the token of a value that is stored')
await send('POST', '/v1/vaults/quickstart/tokenize', {
  body: { tokenizationParameters: [{ value: 'ann@acme.example', table: 'customers', column: 'email' }] },
})

heading('6. Batch: one transaction, and an item that means the record of an earlier one')
await send('POST', '/v1/vaults/quickstart', {
  body: {
    records: [
      { method: 'POST', tableName: 'customers', fields: { name: 'Bo Ek', email: 'bo@acme.example', country: 'DE' } },
      { method: 'PUT', tableName: 'customers', ID: '$responses.0.records.0.svc_id', fields: { country: 'DK' } },
      { method: 'POST', tableName: 'orders', fields: { customer: 'Bo', total: 95 } },
    ],
  },
})

heading('7. Query: SQL over sealed and plain columns')
await send('POST', '/v1/vaults/quickstart/query', {
  body: { query: "SELECT name, redaction(email, 'PLAIN_TEXT') FROM customers WHERE country = 'DK'" },
})

heading('8. What is refused: a wrong key, an unknown column, a change by support')
await send('GET', customers, { credential: 'sr_not-a-key' })
await send('POST', customers, { body: { records: [{ fields: { name: 'Cy', emial: 'cy@acme.example' } }] } })
await sendAsSupport('PUT', `${customers}/${id}`, { body: { record: { fields: { country: 'NO' } } } })

heading('9. A file: upload it, read the record with a URL, download by that URL without a credential')
const form = new FormData()
form.set('tableName', 'customers')
form.set('columnName', 'letter')
form.set('svcID', id)
form.set('file', new Blob([readFileSync(LETTER)]), 'letter.txt')
await send('POST', '/v2/vaults/quickstart/files/upload', { body: form })
const read = await send('GET', `${customers}/${id}?fields=letter&downloadURL=true`)
const file = await send('GET', textAt(read, 'fields', 'letter'), { credential: null })
line(`It has the bytes that were uploaded: ${Buffer.compare(file.bytes, readFileSync(LETTER)) === 0 ? 'yes' : 'no'}.`)

heading('10. Audit: the last event, and what happened')
const trail = await send('GET', '/v1/audit/events?filterOps.accountID=quickstart&filterOps.actionType=UPDATE')
line(`The change that support was refused is the first: ${textAt(trail, 'event', 0, 'response', 'message')}`)
const { events } = await owner.listEvents({ filterOps: { accountID: 'quickstart' }, sortOps: { orderBy: 'ASCENDING' } })
for (const { context, request, response } of events) {
  const name = { [billing.keyId]: 'billing', [support.keyId]: 'support' }[context.actor] ?? context.actor
  line(`${name.padEnd(16)}  ${request.actionType.padEnd(18)}  ${response.code}`)
}

server.close()
server.closeAllConnections()
await handler.close()
await vault.close()
rmSync(folder, { recursive: true })
line('')
line('The server is stopped. docs/http.md says how to mount the vault in your own.')
