/** Files of records: an upload, its scan, a download over HTTP, and what happens to a refused and to an infected file. */
import { randomBytes } from 'node:crypto'
import { createReadStream, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { column, createVault, defineSchema, isVaultError, statusOf } from 'strongroom'
import { folderBlobs } from 'strongroom/blobs'
import { localKeys } from 'strongroom/keys'
import { memoryStorage } from 'strongroom/memory'
import { type ClamdAddress, clamdScanner, type FileScanner } from 'strongroom/scanner'
import { heading, line, table } from './terminal.ts'

/** Where clamd usually listens, or the one socket that CLAMD_SOCKET names. */
const ADDRESSES: readonly ClamdAddress[] =
  process.env.CLAMD_SOCKET === undefined
    ? [{ socket: '/run/clamav/clamd.ctl' }, { host: '127.0.0.1', port: 3310 }]
    : [{ socket: process.env.CLAMD_SOCKET }]
/** The test text of EICAR, which every scanner calls infected and which harms nothing. In two parts, so that this file is not. */
const TEST_VIRUS = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$', 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join('')

const CONTRACT = join(import.meta.dirname, '../LICENSE')
const PICTURE = join(import.meta.dirname, '../docs/files.svg')
const folder = mkdtempSync(join(tmpdir(), 'strongroom-files-'))
const blobFolder = join(folder, 'blobs')

heading('1. Scanner')
const scanner = await findScanner()

const vault = await createVault({
  id: 'files',
  schema: defineSchema({
    applicants: {
      name: column.string(),
      contract: column.file({ redaction: 'PLAIN_TEXT', allowedTypes: ['application/pdf', 'text/plain'], maxBytes: 1024 * 1024 }),
    },
  }),
  storage: memoryStorage(),
  keys: localKeys({ key: randomBytes(32).toString('base64') }),
  blobs: folderBlobs({ directory: blobFolder }),
  scanner,
})
const session = vault.as({ actor: 'ann@acme.example', actorType: 'USER', roles: ['VAULT_OWNER'] })
const stored = await session.insert('applicants', [{ fields: { name: 'Ann Lee' } }, { fields: { name: 'Bo Ek' } }])
const [ann = '', bo = ''] = stored.records.map(({ id }) => id)

heading('2. Upload a file into a record')
const uploaded = await session.uploadFile({
  table: 'applicants',
  column: 'contract',
  id: ann,
  file: createReadStream(CONTRACT),
  fileName: 'contract.txt',
  returnFileMetadata: true,
})
const { fileName, fileSizeKB, fileType } = uploaded.fileMetadata.contract ?? {}
table([{ fileName, fileSizeKB, fileType, scan: await scanned(ann) }])
const blobs = readBlobs()
line(
  `The folder of the blobs has ${count(blobs.length, 'file')} of ${blobs[0]?.length} bytes; the contract has ${statSync(CONTRACT).size}.`,
)
line(
  `The words "Apache License" are in the contract, and ${blobs.some((blob) => blob.includes('Apache License')) ? 'in' : 'not in'} the folder.`,
)

heading('3. Serve it over HTTP, by a ticket that is valid for 15 minutes')
const server = createServer((request, response) => void respond(request, response))
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const address = server.address()
const base = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/files/`
const { ticket } = await session.downloadTicket('applicants', ann, 'contract')
await show('The file', ticket)
await show('Its first 32 bytes', ticket, { range: 'bytes=0-31' })
await show('A changed ticket', `${ticket.slice(0, -1)}${ticket.endsWith('A') ? 'B' : 'A'}`)

heading('4. What is refused')
line('A picture in SVG format, which can contain scripts, under the name contract.pdf:')
await refused(
  session.uploadFile({
    table: 'applicants',
    column: 'contract',
    id: bo,
    file: createReadStream(PICTURE),
    fileName: 'contract.pdf',
  }),
)
line('A file of 2 MiB:')
const long = Readable.from([Buffer.alloc(1024 * 1024, 'text '), Buffer.alloc(1024 * 1024, 'text ')])
await refused(session.uploadFile({ table: 'applicants', column: 'contract', id: bo, file: long }))
line(
  `Nothing of them is stored: the folder has ${count(readBlobs().length, 'file')}, and the record of Bo has ${await scanned(bo)}.`,
)

heading('5. An infected file')
await session.uploadFile({
  table: 'applicants',
  column: 'contract',
  id: bo,
  file: Buffer.from(TEST_VIRUS),
  fileName: 'invoice.txt',
})
line(`The scan says ${await scanned(bo)}. The content is kept, sealed, and never opened:`)
await refused(session.openFile('applicants', bo, 'contract'))
await refused(session.downloadTicket('applicants', bo, 'contract'))

heading('6. Delete')
await session.deleteFile('applicants', bo, 'contract')
await session.delete('applicants', [ann])
line(`One file and one record are deleted. The folder has ${count(readBlobs().length, 'file')}.`)
await show('The ticket', ticket)

heading('7. What the audit trail has recorded, without the questions for the status')
const { events } = await session.listEvents({ filterOps: { accountID: 'files' }, sortOps: { orderBy: 'ASCENDING' } })
for (const { context, request, response } of events) {
  if (request.actionType === 'FILE_STATUS') continue
  line(`${context.actor.padEnd(16)}  ${request.actionType.padEnd(12)}  ${response.code}`)
}

server.close()
server.closeAllConnections()
await vault.close()
rmSync(folder, { recursive: true })

/** Returns clamd if it is running here, and else a scanner that knows one text. */
async function findScanner(): Promise<FileScanner> {
  for (const address of ADDRESSES) {
    const clamd = clamdScanner(address)
    const place = 'socket' in address ? address.socket : `${address.host}:${address.port}`
    try {
      await clamd.scan({ content: Readable.from([Buffer.from('hello')]), size: 5, signal: new AbortController().signal })
      line(`Files are scanned by clamd at ${place}.`)
      return clamd
    } catch (error) {
      if (!isVaultError(error, 'unavailable')) throw error
      line(`${place}: ${error.message}`)
    }
  }
  line('So this example scans files itself: it finds the test text of EICAR, and no malware. Never use that for real files.')
  return { scan: async ({ content }) => ((await includes(content, TEST_VIRUS)) ? 'infected' : 'clean') }
}

/** True if the bytes have the text in them, also where two chunks meet. */
async function includes(content: AsyncIterable<Uint8Array>, text: string): Promise<boolean> {
  let rest = Buffer.alloc(0)
  for await (const chunk of content) {
    const bytes = Buffer.concat([rest, chunk])
    if (bytes.includes(text)) return true
    rest = Buffer.from(bytes.subarray(-text.length + 1))
  }
  return false
}

/** Waits for the scans that are due. Returns the status of the file of a record. */
async function scanned(id: string): Promise<string> {
  await vault.scanFiles()
  return (await session.fileStatus('applicants', id, 'contract')).avScanStatus
}

/** Sends the file of the ticket in the path, or the part of it that the request asks for. */
async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? []
    const part = first === undefined ? {} : { range: { start: Number(first), ...(last ? { end: Number(last) + 1 } : {}) } }
    const file = await vault.downloadWithTicket(request.url?.slice('/files/'.length) ?? '', part)
    const { start, end } = file.range
    response.writeHead(first === undefined ? 200 : 206, {
      'content-type': file.metadata.fileType,
      'content-length': end - start,
      ...(first === undefined ? {} : { 'content-range': `bytes ${start}-${end - 1}/${file.size}` }),
      'content-disposition': `attachment; filename*=UTF-8''${encoded(file.metadata.fileName)}`,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    })
    await pipeline(file.stream, response)
  } catch (error) {
    // After the headers a response can only be cut off, and `pipeline` has done that.
    if (!response.headersSent) response.writeHead(statusOf(error).http, { 'content-type': 'text/plain' })
    if (!response.writableEnded) response.end(isVaultError(error) ? error.message : 'Download failed.')
  }
}

/** Returns a file name in the form of RFC 8187: no character of it ends the header. */
function encoded(name: string): string {
  return encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`)
}

/** Prints the response to a request for a ticket. */
async function show(what: string, path: string, headers: Record<string, string> = {}): Promise<void> {
  const response = await fetch(base + path, { headers })
  const body = Buffer.from(await response.arrayBuffer())
  const original = readFileSync(CONTRACT)
  const content = original.subarray(0, body.length).equals(body) ? `${body.length} bytes of the contract` : body.toString()
  line(`${what}: HTTP ${response.status}, ${response.headers.get('content-type')}, ${content}`)
  const disposition = response.headers.get('content-disposition')
  if (disposition !== null) line(`   ${disposition}; ${response.headers.get('x-content-type-options')}`)
}

/** Prints the error of a call that is refused. */
async function refused(call: Promise<unknown>): Promise<void> {
  try {
    await call
  } catch (error) {
    if (!isVaultError(error)) throw error
    line(`   ${error.code}: ${error.message}`)
    return
  }
  throw new Error('The call was not refused.')
}

function readBlobs(): Buffer[] {
  const entries = readdirSync(blobFolder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => readFileSync(join(entry.parentPath, entry.name)))
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
