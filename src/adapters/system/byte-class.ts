/** Refuses a global scope whose `Uint8Array` is not the one of the runtime, such as the one that jsdom brings to tests. */
import { VaultError } from '../../core/errors.ts'

/**
 * Throws `failed_precondition` if bytes of Node and of drivers are not `instanceof Uint8Array` here. They would be taken for something else: stored
 * bytes for none, uploads for no file.
 */
export function assertByteClass(): void {
  if (Buffer.alloc(0) instanceof Uint8Array) return
  throw new VaultError(
    'failed_precondition',
    'The Uint8Array of this global scope is not the one of the runtime, as in the test environment jsdom, so stored bytes cannot be recognized. ' +
      'Use the environment node: begin the file with a comment that has @vitest-environment node, or for Jest @jest-environment node.',
  )
}
