/** Parses the text of a stored checkpoint. */
import { parseCheckpoint, type SignedCheckpoint } from '../core/audit/checkpoint.ts'
import { VaultError } from '../core/errors.ts'

/** Returns the checkpoint of its JSON text. Throws `invalid_request` for other text. Does not check the signature: `verifyExport` does. */
export function readCheckpoint(text: string): SignedCheckpoint {
  const checkpoint = parseCheckpoint(parsed(text))
  if (checkpoint === undefined) {
    throw new VaultError('invalid_request', 'Not an audit checkpoint. Pass the complete stored text.')
  }
  return checkpoint
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
