/** The bytes of a body: collected within a limit, decoded strictly, and the errors of reading them. */
import { VaultError } from '../../index.ts'

/** The error of a body that is longer than allowed. */
export function bodyTooLong(maxBytes: number): VaultError {
  return new VaultError('limit_exceeded', `The body is longer than ${maxBytes} bytes. Split the request.`)
}

/** The error of a body whose client went away. */
export function clientGone(): VaultError {
  return new VaultError('cancelled', 'The client went away before its body was read.')
}

/** The error of a body whose bytes are wanted, and of which the host has passed on what its parser made of them. */
export function bodyAlreadyParsed(): VaultError {
  return new VaultError(
    'invalid_request',
    'Another parser read the body. Mount the vault before that parser, or pass on its bytes.',
  )
}

/** The error of a body that the host read and did not pass on. */
export function bodyAlreadyRead(): VaultError {
  return new VaultError('internal', 'The host read the body before the handler. Mount the handler first, or pass the body on.')
}

/** Bytes collected in memory. */
export interface CollectedBytes {
  /** Throws the error of the limit for a piece with which the bytes are more. */
  add(piece: Uint8Array): void
  /** Returns all bytes, and is empty then. */
  take(): Uint8Array
}

const EMPTY: Uint8Array = new Uint8Array()

/**
 * Returns no bytes yet. They take at most twice what arrived, and while they grow three times as much: a client can send pieces of one byte, of
 * which a list would be a hundred times as large, and an announced length that never arrives takes nothing.
 */
export function collectBytes(maxBytes: number, tooMany: () => VaultError): CollectedBytes {
  let collected = EMPTY
  let length = 0
  return {
    add(piece) {
      const end = length + piece.length
      if (end > maxBytes) throw tooMany()
      // Most bodies are one piece, which is not copied.
      if (length === 0) collected = piece
      else {
        if (end > collected.length) collected = grown(collected, Math.min(maxBytes, Math.max(2 * collected.length, end)))
        collected.set(piece, length)
      }
      length = end
    },
    take() {
      const taken = length === collected.length ? collected : collected.subarray(0, length)
      collected = EMPTY
      length = 0
      return taken
    },
  }
}

/** Returns no bytes of a body yet. Adding throws `limit_exceeded` for more than these. */
export function collectBody(maxBytes: number): CollectedBytes {
  return collectBytes(maxBytes, () => bodyTooLong(maxBytes))
}

function grown(bytes: Uint8Array, length: number): Uint8Array {
  const larger = new Uint8Array(length)
  larger.set(bytes)
  return larger
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns the text; undefined if the bytes are not valid UTF-8. A byte order mark stays part of the text. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes)
  } catch {
    return undefined
  }
}
