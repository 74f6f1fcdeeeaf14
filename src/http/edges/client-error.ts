/** Answers requests that node:http cannot parse, which it would answer without an envelope. */
import { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ErrorCode } from '../../index.ts'
import { refusedResponse } from '../router/error-response.ts'

/** Time for which a client may go on sending after it was answered, in milliseconds. */
const LINGER_MS = 2000

/** Connections that end. Node reports each further packet that it cannot parse. */
const ENDING = new WeakSet<Duplex>()

/**
 * Answers malformed requests with the error envelope: `server.on('clientError', answerClientError)`; and those to open a tunnel:
 * `server.on('connect', answerClientError)`. A response in progress is not disturbed: that of an earlier request is completed first, and one
 * that the malformed body belongs to is cut.
 */
export function answerClientError(cause: Error | IncomingMessage, socket: Duplex): void {
  if (ENDING.has(socket)) return
  ENDING.add(socket)
  answerInTurn(cause, socket)
}

function answerInTurn(error: Error | IncomingMessage, socket: Duplex): void {
  const response = responseOn(socket)
  if (!socket.writable || codeOf(error) === 'ECONNRESET') socket.destroy()
  else if (response === undefined || (!response.req.complete && !response.headersSent)) answer(error, socket)
  // The error is in the body of a request whose response began.
  else if (!response.req.complete) socket.destroy()
  else response.once('finish', () => answerInTurn(error, socket))
}

/** The response that Node is sending on a connection. Node itself looks at this member before it answers. */
function responseOn(socket: Duplex): ServerResponse | undefined {
  const response: unknown = Reflect.get(socket, '_httpMessage')
  return response instanceof ServerResponse && !response.writableFinished ? response : undefined
}

function answer(error: Error | IncomingMessage, socket: Duplex): void {
  const [code, sentence] = refusalOf(error)
  const { status, headers, body } = refusedResponse(code, sentence)
  const text = typeof body === 'string' ? body : ''
  const lines = Object.entries({ ...headers, 'content-length': Buffer.byteLength(text), connection: 'close' })
  socket.end(`HTTP/1.1 ${status} Bad Request\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`)
  // What arrives meanwhile is dropped: a connection that ended at once could be reset before the client has read the answer.
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}

function codeOf(error: Error | IncomingMessage): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}

function refusalOf(error: Error | IncomingMessage): [ErrorCode, string] {
  if (error instanceof IncomingMessage) return ['unsupported', 'This server opens no tunnels. Use another method.']
  switch (codeOf(error)) {
    case 'HPE_HEADER_OVERFLOW':
      return ['limit_exceeded', 'The headers are longer than this server accepts. Shorten them.']
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return ['limit_exceeded', 'The extensions of a chunk are longer than this server accepts. Omit them.']
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return ['invalid_request', 'The request was not complete in time. Send it again.']
    default:
      return ['invalid_request', 'The request is not well-formed HTTP. Correct it.']
  }
}
