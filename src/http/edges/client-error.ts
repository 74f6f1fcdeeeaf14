/** Answers requests that node:http cannot parse, which it would answer without an envelope. */
import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { VaultError } from '../../index.ts'
import { errorResponse, toFailure } from '../router/error-response.ts'
import { ALL_STATUSES } from '../router/error-status.ts'
import { sealed } from '../router/security-headers.ts'

/** Answers malformed requests with the error envelope: `server.on('clientError', answerClientError)`. */
export function answerClientError(error: Error, socket: Duplex): void {
  if (!socket.writable || ('code' in error && error.code === 'ECONNRESET')) {
    socket.destroy()
    return
  }
  const refused = new VaultError('invalid_request', 'Request failed. The request is not well-formed HTTP.')
  const { status, headers, body } = sealed(errorResponse(toFailure(refused, ALL_STATUSES)), randomUUID())
  const text = typeof body === 'string' ? body : ''
  const lines = Object.entries({ ...headers, 'content-length': Buffer.byteLength(text), connection: 'close' })
  socket.end(`HTTP/1.1 ${status} Bad Request\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`)
}
