/** Routes of tickets: a file is downloaded and uploaded by an URL that needs no bearer. */
import * as z from 'zod'
import { VaultError } from '../../index.ts'
import type { Names } from '../names.ts'
import type { RouterOptions } from '../options.ts'
import type { HttpResponse } from '../router/http-message.ts'
import { jsonResponse } from '../router/json-response.ts'
import { flag, readQuery, text } from '../router/request-shape.ts'
import type { OpenCall, OpenRoute, Route } from '../router/route.ts'
import { TICKET_PATH } from '../router/urls.ts'
import type { HostedVault } from '../vaults/open-vaults.ts'
import { downloadHeaders } from './download-headers.ts'
import { fileExamples } from './file-examples.ts'
import { parseRange } from './parse-range.ts'
import { FILE_METADATA, namedShape } from './shapes.ts'
import { ticketContent } from './ticket-content.ts'

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
