/** Requests whose clients go away: a part of one is sent, or all of it, to a vault of open-archive.ts with the id `archive`. */
import { setTimeout } from 'node:timers/promises'
import type { SeededRandom } from '../random/seeded-random.ts'
import { OWNER_CREDENTIAL } from './ask.ts'
import { multipart } from './multipart.ts'
import { openRaw } from './raw-connection.ts'
import type { ServedVault } from './serve-vault.ts'

/** Records of each insert: so many are stored, or none. */
export const RECORDS = 3

/** A served vault, and the record of `papers` whose file is downloaded and whose other file is uploaded. */
export interface AbortedVault {
  readonly served: Pick<ServedVault, 'port' | 'ask'>
  readonly id: string
}

/** Sends a part of a request, or all of it, and goes away, with or without a good-bye. */
export async function abortOne(vault: AbortedVault, random: SeededRandom): Promise<void> {
  const request = await random.pick(REQUESTS)(vault, random)
  const sent = random.chance(0.5) ? request : request.subarray(0, random.below(request.length))
  const connection = await openRaw(vault.served.port)
  // A client that does not read holds up the response.
  if (random.chance(0.5)) connection.socket.pause()
  connection.send(sent)
  // The request is received, runs, or is answered by then.
  if (random.chance(0.7)) await setTimeout(random.below(6))
  if (random.chance(0.5)) connection.reset()
  else connection.socket.resume().end()
  await connection.untilEnd()
  connection.socket.destroy()
}

type RequestOf = (vault: AbortedVault, random: SeededRandom) => Buffer | Promise<Buffer>

const HEAD = `HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${OWNER_CREDENTIAL}\r\n`
const JSON_HEAD = `${HEAD}Content-Type: application/json\r\n`
const LENGTHS = [10, 70_000, 270_000]

const insertRequest: RequestOf = () => {
  const records = Array.from({ length: RECORDS }, () => ({ fields: { title: 'x'.repeat(500) } }))
  const body = JSON.stringify({ records })
  return Buffer.from(
    `POST /v1/vaults/archive/papers ${JSON_HEAD}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  )
}

const batchRequest: RequestOf = () => {
  const records = Array.from({ length: RECORDS }, () => ({ method: 'POST', tableName: 'papers', fields: { title: 'x' } }))
  return withJson('POST /v1/vaults/archive', { records })
}

const listRequest: RequestOf = () => Buffer.from(`GET /v1/vaults/archive/papers ${JSON_HEAD}\r\n`)

const queryRequest: RequestOf = () => withJson('POST /v1/vaults/archive/query', { query: 'select title from papers' })

/** Uploads to a new record, or over the file of one. */
const uploadRequest: RequestOf = ({ id }, random) => {
  const target = random.chance(0.5)
    ? [
        { key: 'tableName', content: 'papers' },
        { key: 'columnName', content: 'back' },
        { key: 'svcID', content: id },
      ]
    : [
        { key: 'tableName', content: 'letters' },
        { key: 'columnName', content: 'sheet' },
      ]
  const file = { key: 'file', content: random.bytes(random.pick(LENGTHS)), fileName: 'file' }
  const { body, headers } = multipart(...target, file)
  const type = `Content-Type: ${headers['content-type']}\r\nContent-Length: ${body.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(`POST /v2/vaults/archive/files/upload ${HEAD}${type}`), body])
}

const ticketUploadRequest: RequestOf = async ({ served }, random) => {
  const body = { tableName: 'letters', fileColumns: ['sheet'] }
  const { json } = await served.ask('POST', '/v2/vaults/archive/files/uploadURL', { body })
  const content = random.bytes(random.pick(LENGTHS))
  const head = `PUT ${pathOf(json.uploadURLs.sheet.url)} HTTP/1.1\r\nHost: a\r\nContent-Length: ${content.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), content])
}

const downloadRequest: RequestOf = async ({ served, id }, random) => {
  const { json } = await served.ask('GET', `/v1/vaults/archive/papers/${id}?downloadURL=true`)
  const range = random.chance(0.5) ? 'Range: bytes=70000-\r\n' : ''
  return Buffer.from(`GET ${pathOf(json.fields.front)} HTTP/1.1\r\nHost: a\r\n${range}\r\n`)
}

const REQUESTS = [
  ...[insertRequest, insertRequest, batchRequest, listRequest, queryRequest],
  ...[uploadRequest, uploadRequest, ticketUploadRequest, downloadRequest],
]

function withJson(line: string, value: unknown): Buffer {
  const body = JSON.stringify(value)
  return Buffer.from(`${line} ${JSON_HEAD}Content-Length: ${body.length}\r\n\r\n${body}`)
}

function pathOf(url: string): string {
  return new URL(url).pathname
}
