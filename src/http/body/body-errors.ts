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
