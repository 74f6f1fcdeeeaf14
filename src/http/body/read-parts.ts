/** Reads the parts of a multipart request as they arrive. */
import { VaultError } from '../../index.ts'
import type { HttpRequest } from '../router/http-message.ts'
import { createMultipartParser, type PartEvent } from './multipart-parser.ts'
import { parseParameters } from './parse-parameters.ts'
import { assertNotEncoded } from './read-json-body.ts'

/** What RFC 2046 allows. */
const BOUNDARY = /^[ -~]{1,70}$/

/** Some servers pass on megabytes at once. The parser gets them in pieces, so that what it makes of one stays small. */
const MAX_PIECE = 65_536

/**
 * Yields what the parts hold. Nothing is read ahead: a slow reader slows the client down. When the reader leaves, the rest of the body is left
 * to the server. Throws `invalid_request` for a body that is not multipart or not whole, `limit_exceeded`, and `cancelled` if the client goes
 * away.
 */
export async function* readParts(request: HttpRequest): AsyncGenerator<PartEvent> {
  const type = parseParameters(request.header('content-type') ?? '')
  if (request.body === undefined || type?.value !== 'multipart/form-data') {
    throw new VaultError('invalid_request', 'The body is not multipart. Send multipart/form-data.')
  }
  const boundary = type.parameters.get('boundary') ?? ''
  if (!BOUNDARY.test(boundary))
    throw new VaultError('invalid_request', 'The content type multipart/form-data has no valid boundary.')
  assertNotEncoded(request)
  const parser = createMultipartParser(boundary)
  for await (const chunk of request.body.chunks()) {
    for (let start = 0; start < chunk.length; start += MAX_PIECE) yield* parser.write(chunk.subarray(start, start + MAX_PIECE))
  }
  yield* await parser.end()
}
