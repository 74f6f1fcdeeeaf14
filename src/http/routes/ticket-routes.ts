/** Routes of tickets: a file is downloaded and uploaded by an URL that needs no bearer. A browser saves what it downloads, and runs nothing of it. */
import * as z from 'zod'
import { type OpenFileOptions, type OpenFileResult, VaultError } from '../../index.ts'
import { fileNameOf, parseParameters } from '../body/header-parameters.ts'
import { assertNotEncoded } from '../body/read-json-body.ts'
import { readMultipart } from '../body/read-multipart.ts'
import type { Names } from '../names.ts'
import type { RouterOptions } from '../options.ts'
import type { HttpRequest, HttpResponse } from '../router/http-message.ts'
import { jsonResponse } from '../router/json-response.ts'
import { flag, readQuery, text } from '../router/request-shape.ts'
import type { OpenCall, OpenRoute, Route } from '../router/route.ts'
import { TICKET_PATH } from '../router/urls.ts'
import type { HostedVault } from '../vaults/open-vaults.ts'
import { fileExamples } from './examples.ts'
import { FILE_METADATA, namedShape } from './shapes.ts'

/** Returns the routes. */
export function ticketRoutes({ names }: RouterOptions): Route[] {
  return [downloadRoute(names), uploadRoute('PUT', names), uploadRoute('POST', names)]
}

function downloadRoute(names: Names): OpenRoute {
  return {
    access: 'open',
    method: 'GET',
    path: TICKET_PATH,
    parameters: TICKET_PARAMETER,
    name: 'downloadWithTicket',
    example: fileExamples(names).downloadWithTicket,
    group: 'Files',
    summary: 'Returns a file, by an URL that a read with downloadURL gave.',
    description:
      'The URL is valid for 15 minutes, and no longer than the file is in its record and can be opened. It needs no bearer: any holder has the file. The content is an attachment with the type that was detected in it. A Range header with one range of bytes is answered with 206; one beyond the end of the file with 400.',
    isOwn: true,
    isPublic: true,
    operation: undefined,
    verb: 'Open file',
    statuses: [400, 404, 500],
    response: undefined,
    responseType: 'application/octet-stream',
    otherResponses: { 206: undefined },
    async handle(call) {
      const { request, scope } = call
      const vault = await vaultOf(call)
      readQuery({}, call.query())
      const range = parseRange(request.header('range'), request.header('if-range'))
      scope.began()
      const opened = await vault.downloadWithTicket(ticketOf(call), range === undefined ? {} : { range }, scope.context)
      const isPart = range !== undefined
      return { status: isPart ? 206 : 200, headers: downloadHeaders(opened, isPart), body: opened.stream }
    },
  }
}

const TICKET_PARAMETER = { ticket: 'The ticket, from an URL of a response.' }

/** Members of the query of an upload by ticket. */
const UPLOAD_QUERY = {
  fileName: text('The name of the file. Default: that of the part, or of the Content-Disposition header.'),
  returnFileMetadata: flag('Return the metadata of the file.'),
}

function uploadRoute(method: 'PUT' | 'POST', names: Names): OpenRoute {
  return {
    access: 'open',
    method,
    path: TICKET_PATH,
    parameters: TICKET_PARAMETER,
    name: method === 'PUT' ? 'uploadWithTicket' : 'postWithTicket',
    example: fileExamples(names).uploadWithTicket,
    group: 'Files',
    summary: 'Uploads a file, by an URL that uploadURL gave.',
    description:
      'The URL takes one file within 15 minutes, and needs no bearer. The body is the content, or multipart/form-data with the file as its one part. The type is detected from the content.',
    isOwn: true,
    isPublic: true,
    operation: undefined,
    verb: 'Upload',
    statuses: [400, 404, 422, 500],
    query: UPLOAD_QUERY,
    body: z.string().meta({ format: 'binary', description: 'The content of the file.' }),
    bodyType: 'application/octet-stream',
    response: z.object({
      ...namedShape(names.fileId, z.string().describe('Id of the record.')),
      fileMetadata: FILE_METADATA.optional().describe('By file column, with returnFileMetadata.'),
    }),
    handle: (call) => uploadByTicket(call, names),
  }
}

async function uploadByTicket(call: OpenCall, { fileId }: Names): Promise<HttpResponse> {
  const vault = await vaultOf(call)
  const { fileName, returnFileMetadata = false } = readQuery(UPLOAD_QUERY, call.query())
  const arriving = await ticketContent(call.request)
  const given = { file: arriving.content, fileName: fileName ?? arriving.fileName ?? '', returnFileMetadata }
  call.scope.began()
  const uploaded = vault.uploadWithTicket(ticketOf(call), given, call.scope.context)
  const { id, fileMetadata } = await uploaded.finally(() => arriving.close())
  return jsonResponse(200, { [fileId]: id, ...(fileMetadata === undefined ? {} : { fileMetadata }) })
}

/** Returns the vault of a ticket, which records what fails from here on. Throws the one error of tickets, as the vault does. */
async function vaultOf({ params, scope }: OpenCall): Promise<HostedVault> {
  const vault = await scope.open(params.vaultID ?? '')
  if (vault === undefined) throw new VaultError('not_found', 'This ticket is not valid, or not any more. Ask for a new one.')
  scope.named(vault)
  return vault
}

function ticketOf({ params }: OpenCall): string {
  return params.ticket ?? ''
}

/** A file as it arrives. */
export interface ArrivingFile {
  readonly content: AsyncIterable<Uint8Array>
  /** As the client sent it; undefined if it sent none. */
  readonly fileName: string | undefined
  /** Reads no more of it. Called in any case. */
  close(): void
}

/** Returns the file of a request. Throws `invalid_request` for a multipart body without one, and for a body with a content encoding. */
async function ticketContent(request: HttpRequest): Promise<ArrivingFile> {
  const type = parseParameters(request.header('content-type') ?? '')
  if (type?.value === 'multipart/form-data') return readMultipart(request)
  assertNotEncoded(request)
  const { body } = request
  const fileName = fileNameOf(request.header('content-disposition') ?? '')
  // The vault closes the content itself, and refuses an empty one.
  return { content: body?.chunks() ?? nothing(), fileName, close: () => {} }
}

/** The content of a request without a body. */
export async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Returns the headers of a file or of a part of it. */
export function downloadHeaders(
  { metadata, size, range }: Omit<OpenFileResult, 'stream'>,
  isPart: boolean,
): Record<string, string> {
  return {
    'content-type': metadata.fileType,
    'content-length': String(range.end - range.start),
    'content-disposition': dispositionOf(metadata.fileName),
    'accept-ranges': 'bytes',
    // A part that a proxy or a middleware compresses is not the part that was asked for.
    'cache-control': 'no-store, no-transform',
    ...(isPart ? { 'content-range': `bytes ${range.start}-${range.end - 1}/${size}` } : {}),
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  }
}

/** Returns an attachment with the name in both forms of RFC 6266: in ASCII, and in full as RFC 8187 encodes it. */
function dispositionOf(name: string): string {
  const visible = name.replace(UNSAFE, '_')
  const ascii = visible.replace(/[^\x20-\x7e]|["%\\]/g, '_')
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encode(visible)}`
}

/** Control characters, those that change the direction of text, and halves of a character. Stored names have none; a header does not rely on it. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

function encode(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** The part of a file that a request asks for. */
export type FileRange = NonNullable<OpenFileOptions['range']>

/**
 * Returns the one range of a header; undefined for no header, for several ranges and for anything that is no range of bytes: the whole
 * file answers these. With `If-Range` too, because a file has no validator that it could match.
 */
export function parseRange(header: string | undefined, ifRange: string | undefined): FileRange | undefined {
  if (header === undefined || ifRange !== undefined) return undefined
  const [, first = '', last = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header) ?? []
  if (first === '') return last === '' ? undefined : { last: Math.min(Number(last), Number.MAX_SAFE_INTEGER) }
  const start = Math.min(Number(first), Number.MAX_SAFE_INTEGER)
  if (last === '') return { start }
  const end = Number(last) + 1
  if (end <= Number(first)) return undefined
  return Number.isSafeInteger(end) ? { start, end } : { start }
}
