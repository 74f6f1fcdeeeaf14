/** Verifies the audit trail where it is stored: every event opens, follows the one before it, and every chain ends at its head. */
import type { VerificationResult } from '../audit/chain-verifier.ts'
import { ChainVerifier } from '../audit/chain-verifier.ts'
import type { SignedCheckpoint } from '../audit/checkpoint.ts'
import { findDivergence, parseCheckpoint, positionsOf } from '../audit/checkpoint.ts'
import { VaultError } from '../errors.ts'
import type { AuditContext } from './audit-context.ts'
import { eachEvent, readable, readHeads } from './read-trail.ts'

/** What the trail is compared with. */
export interface VerifyAuditOptions {
  /** Checkpoints that the application kept elsewhere and trusts: events cut off before the last of them are noticed. */
  readonly checkpoints?: readonly SignedCheckpoint[]
}

/** The result over the trail as it is stored. Events appended while it is read are checked as far as they are met. */
export async function verifyAudit(context: AuditContext, options: VerifyAuditOptions = {}): Promise<VerificationResult> {
  const { hash, vaultID } = context
  const checkpoints = (options.checkpoints ?? []).map((checkpoint, index) => parseOwn(vaultID, checkpoint, index))
  const heads = await readHeads(context)
  const lost = heads.find(({ head }) => head === undefined)
  if (lost !== undefined) {
    const reason = `The head of chain ${lost.chain} cannot be read.`
    return { ok: false, eventCount: 0, firstFailure: { chain: lost.chain, sequence: 0, reason } }
  }
  const check = new ChainVerifier({ hash, vaultID, heads: readable(heads), watchedPositions: positionsOf(checkpoints) })
  for await (const entries of eachEvent(context)) {
    for (const { id, at, bytes } of entries) check.add(id, bytes, at)
  }
  const verdict = check.end(readable(await readHeads(context)))
  if (!verdict.ok) return verdict
  for (const { checkpoint } of checkpoints) {
    const departure = findDivergence(checkpoint, hash, (chain, sequence) => check.treeHeadAt(chain, sequence))
    if (departure !== undefined) return { ok: false, eventCount: verdict.eventCount, firstFailure: departure }
  }
  return verdict
}

/** A checkpoint of this vault. Throws `invalid_request` for anything else. */
function parseOwn(vaultID: string, given: unknown, index: number): SignedCheckpoint {
  const signed = parseCheckpoint(given)
  if (signed?.checkpoint.vaultID === vaultID) return signed
  throw new VaultError('invalid_request', `Verify failed. checkpoints[${index}] is not a checkpoint of this vault.`, { index })
}
