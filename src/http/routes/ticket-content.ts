/** Reads the file of an upload by ticket: the body itself, or the one part of a multipart body. */
import { fileNameOf, parseParameters } from '../body/header-parameters.ts'
import { assertNotEncoded } from '../body/read-json-body.ts'
import { readMultipart } from '../body/read-multipart.ts'
import type { HttpRequest } from '../router/http-message.ts'

/** A file as it arrives. */
export interface ArrivingFile {
  readonly content: AsyncIterable<Uint8Array>
  /** As the client sent it; undefined if it sent none. */
  readonly fileName: string | undefined
  /** Reads no more of it. Called in any case. */
  close(): void
}

/** Returns the file of a request. Throws `invalid_request` for a multipart body without one, and for a body with a content encoding. */
export async function ticketContent(request: HttpRequest): Promise<ArrivingFile> {
  const type = parseParameters(request.header('content-type') ?? '')
  if (type?.value === 'multipart/form-data') return readMultipart(request)
  assertNotEncoded(request)
  const { body } = request
  const fileName = fileNameOf(request.header('content-disposition') ?? '')
  // The vault closes the content itself, and refuses an empty one.
  return { content: body?.chunks() ?? nothing(), fileName, close: () => {} }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
