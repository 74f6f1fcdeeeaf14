/** Reads a checkpoint that was kept outside. */
import type { SignedCheckpoint } from '../core/audit/checkpoint.ts'
import { parseCheckpoint } from '../core/audit/checkpoint.ts'
import { VaultError } from '../core/errors.ts'

/** The checkpoint behind its JSON text. Throws `invalid_request` when it is none. Its signature is checked by `verifyExport`. */
export function readCheckpoint(text: string): SignedCheckpoint {
  const checkpoint = parseCheckpoint(parsed(text))
  if (checkpoint === undefined) {
    throw new VaultError('invalid_request', 'This is no checkpoint of an audit trail. Give the text as it was kept, whole.')
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
