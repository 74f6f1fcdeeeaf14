/** What ends in the middle: a download whose content cannot be read any more, and a query whose client goes away. */
import { expect, it } from 'vitest'
import { toNodeHandler } from '../../../src/http/index.ts'
import { eventsOf } from '../../support/audit/audited-clients.ts'
import { countedBlobs } from '../../support/files/open-file-vault.ts'
import { ask, OWNER_CREDENTIAL } from '../../support/http/ask.ts'
import { openRaw } from '../../support/http/raw-connection.ts'
import { serveFiles } from '../../support/http/serve-files.ts'
import { serveVault } from '../../support/http/serve-vault.ts'
import { memoryEngine } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

it('a download that fails in the middle is cut, and the log says why without the text of the store', async () => {
  const logged: object[] = []
  const blobs = countedBlobs()
  const failing: typeof blobs = {
    ...blobs,
    async *read(key, range) {
      for await (const chunk of blobs.read(key, range)) {
        yield chunk
        if (range.start > 0 || chunk.length < range.end) throw new Error('TEST_SECRET of the store')
      }
    },
  }
  const log = { warn: () => {}, error: (fields: object) => void logged.push(fields) }
  const files = await serveFiles(memoryEngine(), { blobs: failing, handler: { log } })
  const id = await files.person()
  await files.session.uploadFile({ table: 'people', id, column: 'paper', file: Buffer.alloc(300_000, 'p') })
  const { json } = await files.ask('GET', `/v1/vaults/v1/people/${id}?downloadURL=true&redaction=PLAIN_TEXT`)
  const { pathname } = new URL(json.fields.paper)
  await expect(ask(files.port, ['GET', pathname], { credential: null })).rejects.toThrow()
  await expect.poll(() => logged).toHaveLength(1)
  expect(logged[0]).toMatchObject({ code: 'internal', requestID: expect.stringMatching(/^.{36}$/) })
  expect(JSON.stringify(logged)).not.toContain('TEST_SECRET')
  await files.close()
})

it('a query whose client goes away stops, and its event says so', async () => {
  let received = (): void => {}
  const isReceived = new Promise<void>((resolve) => {
    received = resolve
  })
  const served = await serveVault({
    storage: memoryEngine().fresh().open(),
    listener: (handler) => (request, response) => {
      request.once('end', received)
      return toNodeHandler(handler)(request, response)
    },
  })
  const records = Array.from({ length: 1000 }, (_, index) => ({ fields: { total: index % 2 } }))
  for (let slice = 0; slice < 3; slice++) await served.vault.as(OWNER).insert('orders', records)
  const body = JSON.stringify({ query: 'select count(*) as n from orders a join orders b on a.total = b.total' })
  const head = `Authorization: Bearer ${OWNER_CREDENTIAL}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`
  const connection = await openRaw(served.port)
  connection.send(`POST /v1/vaults/v1/query HTTP/1.1\r\nHost: a\r\n${head}\r\n\r\n${body}`)
  await isReceived
  connection.reset()
  const queries = async () => (await eventsOf(served.vault)).filter(({ action }) => action === 'QUERY')
  await expect.poll(async () => (await queries()).length).toBe(1)
  expect((await queries())[0]).toMatchObject({ code: 400, message: 'Query failed. It was cancelled by its AbortSignal.' })
  await served.close()
})
