/** Reads the file of an upload by ticket: the body itself, or the one part of a multipart body. */
import { VaultError } from '../../index.ts'
import { parseParameters } from '../body/parse-parameters.ts'
import type { HttpRequest } from '../router/http-message.ts'

/** A file as it arrives. */
export interface ArrivingFile {
  readonly file: AsyncIterable<Uint8Array>
  /** As the client sent it; undefined if it sent none. */
  readonly name: string | undefined
}

/** Returns the file of a request. Throws `invalid_request` for a body that a parser of the host has read as something else than bytes. */
export async function ticketContent(request: HttpRequest): Promise<ArrivingFile> {
  const { body } = request
  if (body?.parsed !== undefined)
    throw new VaultError('invalid_request', 'A body parser of the host has read the file. Mount the handler before it.')
  const name = fileNameIn(request.header('content-disposition'))
  return { file: body === undefined ? nothing() : body.chunks(), name }
}

/** The content of a request without a body: the vault refuses an empty file. */
async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Returns the file name of a Content-Disposition header; undefined if it has none. */
function fileNameIn(header: string | undefined): string | undefined {
  return header === undefined ? undefined : parseParameters(header)?.parameters.get('filename')
}
