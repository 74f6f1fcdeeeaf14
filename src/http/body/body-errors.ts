/** The errors of reading a body. */
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
