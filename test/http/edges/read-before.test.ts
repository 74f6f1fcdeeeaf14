/** Bodies that the platform has read before the handler is called, as serverless ones do: JSON, multipart and tickets. */
import type { RequestListener } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { type Handler, toNodeHandler } from '../../../src/http/index.ts'
import { bytesOf } from '../../support/files/open-file-vault.ts'
import { multipart } from '../../support/http/multipart.ts'
import { type ServedFiles, serveFiles } from '../../support/http/serve-files.ts'
import { memoryEngine } from '../../support/storages/engines.ts'

/** Bytes that are no text in any encoding. */
const PAPER = Buffer.from([0xff, 0x00, 0xfe, 0x80, 0x0a, 0x0d])

/** Reads every body, and passes on what a platform does. */
function platform(passedOn: (bytes: Buffer) => object): (handler: Handler) => RequestListener {
  return (handler) => (request, response) => {
    buffer(request).then((bytes) => toNodeHandler(handler)(Object.assign(request, passedOn(bytes)), response))
  }
}

async function served(passedOn: (bytes: Buffer) => object, work: (files: ServedFiles) => Promise<void>): Promise<void> {
  const files = await serveFiles(memoryEngine(), { listener: platform(passedOn) })
  try {
    await work(files)
  } finally {
    await files.close()
  }
}

/** Uploads with a bearer and with a ticket. Returns the answers. */
async function upload({ ask, person }: ServedFiles) {
  const id = await person()
  const fields = [
    { key: 'tableName', content: 'people' },
    { key: 'columnName', content: 'paper' },
    { key: 'svcID', content: id },
  ]
  const file = multipart(...fields, { key: 'file', content: PAPER, fileName: 'paper.bin' })
  const byBearer = await ask('POST', '/v2/vaults/v1/files/upload', file)
  const asked = await ask('POST', '/v2/vaults/v1/files/uploadURL', {
    body: { tableName: 'people', svcID: id, fileColumns: ['paper'] },
  })
  const path = new URL(asked.json.uploadURLs.paper.url).pathname
  const headers = { 'content-type': 'application/octet-stream' }
  const byTicket = await ask('PUT', path, { body: PAPER, credential: null, headers })
  return { id, byBearer, byTicket }
}

it.each<[string, (bytes: Buffer) => object]>([
  ['rawBody beside what a parser made of it', (bytes) => ({ rawBody: bytes, body: {} })],
  ['rawBody alone', (bytes) => ({ rawBody: bytes })],
  ['body', (bytes) => ({ body: bytes })],
])('as bytes in %s are bodies of every route', (_, passedOn) =>
  served(passedOn, async (files) => {
    const { id, byBearer, byTicket } = await upload(files)
    expect([byBearer.status, byTicket.status], byBearer.text + byTicket.text).toEqual([200, 200])
    expect(await bytesOf((await files.session.openFile('people', id, 'paper')).stream)).toEqual(PAPER)
    const inserted = await files.ask('POST', '/v1/vaults/v1/people', { body: { records: [{ fields: { name: 'Ann' } }] } })
    expect(inserted.status, inserted.text).toBe(200)
    expect((await files.ask('GET', `/v1/vaults/v1/people/${id}`)).status).toBe(200)
  }),
)

it('as text are no files: their bytes are lost', () =>
  served(
    (bytes) => ({ body: bytes.toString() }),
    async (files) => {
      const { byBearer, byTicket } = await upload(files)
      for (const { status, json } of [byBearer, byTicket]) {
        expect([status, json.error.grpc_code, json.error.message]).toEqual([400, 3, expect.stringContaining('Another parser')])
      }
    },
  ))

it('as text in rawBody keep the digits that a parser of JSON has lost', () =>
  served(
    (bytes) => ({ rawBody: bytes.toString(), body: bytes.length === 0 ? {} : JSON.parse(bytes.toString()) }),
    async ({ ask }) => {
      const body = '{"records":[{"fields":{"name":"Ann"}}],"extra":9007199254740993}'
      const { json } = await ask('POST', '/v1/vaults/v1/people', { body, headers: { 'content-type': 'application/json' } })
      expect(json.error.message).toBe(
        'Insert failed. The body holds an integer beyond 2^53, which must be text because a number loses digits: line 1, column 48.',
      )
    },
  ))

it('behind a getter that throws are read from the request', async () => {
  const refusing = (request: object) => {
    const get = () => {
      throw new Error('Invalid JSON')
    }
    return Object.defineProperties(request, { body: { get }, rawBody: { get } })
  }
  const listener = (handler: Handler): RequestListener => {
    const handle = toNodeHandler(handler)
    return (request, response) => {
      refusing(request)
      return handle(request, response)
    }
  }
  const { ask, close } = await serveFiles(memoryEngine(), { listener })
  const headers = { 'content-type': 'application/json' }
  const answers = await Promise.all(
    ['{"records":[{"fields":{}}]}', '{'].map((body) => ask('POST', '/v1/vaults/v1/people', { body, headers })),
  )
  expect(answers.map(({ status }) => status)).toEqual([200, 400])
  await close()
})
