/** Verifies the stored audit trail: each event is authentic and follows the one before it, and each chain ends at its head. */
import { ChainVerifier, type VerificationResult } from '../audit/chain-verifier.ts'
import { findDivergence, parseCheckpoint, positionsOf, type SignedCheckpoint } from '../audit/checkpoint.ts'
import { fault } from '../errors.ts'
import { type OnProgress, type ReportProgress, readInput } from '../util/boundary.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'
import type { AuditContext } from './audit-context.ts'
import { eachEvent, readable, readHeads } from './read-trail.ts'

/** Options of `verifyAudit`. */
export interface VerifyAuditOptions {
  /** Trusted checkpoints that the application stored elsewhere. With them, removing events from before a checkpoint is detected. */
  readonly checkpoints?: readonly SignedCheckpoint[]
  /** An `AbortSignal`. When it is aborted, the verification throws `cancelled`. */
  readonly signal?: Signal
  /** Called after each slice with the number of events read so far and in all, and awaited. Its error ends the verification, and is thrown unchanged. */
  readonly onProgress?: OnProgress
}

/** What the verification does, besides its checkpoints. */
interface AuditVerification extends Pick<VerifyAuditOptions, 'checkpoints'> {
  readonly signal?: Signal | undefined
  readonly report?: ReportProgress
}

/** Returns whether the audit trail is intact, and the first failure. Events appended meanwhile are checked as far as they are read. Throws `invalid_request` for a checkpoint of another vault. */
export async function verifyAudit(context: AuditContext, options: AuditVerification = {}): Promise<VerificationResult> {
  const { hash, vaultID, catalog, storage } = context
  const checkpoints = readInput(() =>
    (options.checkpoints ?? []).map((checkpoint, index) => parseOwn(vaultID, checkpoint, index)),
  )
  if (checkpoints.length > 0) await catalog.reload(storage)
  if (checkpoints.some(({ checkpoint }) => checkpoint.keys.generation > catalog.keys.generation)) {
    const reason = 'The catalog is older than a checkpoint.'
    return { ok: false, eventCount: 0, firstFailure: { chain: 0, sequence: 0, reason } }
  }
  const heads = await readHeads(context)
  const unreadable = heads.find(({ head }) => head === undefined)
  if (unreadable !== undefined) {
    const reason = `The head of chain ${unreadable.chain} cannot be read.`
    return { ok: false, eventCount: 0, firstFailure: { chain: unreadable.chain, sequence: 0, reason } }
  }
  const verifier = new ChainVerifier({ hash, vaultID, heads: readable(heads), watchedPositions: positionsOf(checkpoints) })
  const total = readable(heads).reduce((sum, { sequence }) => sum + sequence, 0)
  let done = 0
  for await (const entries of eachEvent(context)) {
    assertNotAborted(options.signal)
    for (const { id, at, bytes } of entries) verifier.add(id, bytes, at)
    done += entries.length
    await options.report?.({ done, total })
  }
  const result = verifier.end(readable(await readHeads(context)))
  if (!result.ok) return result
  for (const { checkpoint } of checkpoints) {
    const divergence = findDivergence(checkpoint, hash, (chain, sequence) => verifier.treeHeadAt(chain, sequence))
    if (divergence !== undefined) return { ok: false, eventCount: result.eventCount, firstFailure: divergence }
  }
  return result
}

/** Returns a checkpoint of this vault. Throws `invalid_request` for anything else. */
function parseOwn(vaultID: string, given: unknown, index: number): SignedCheckpoint {
  const signed = parseCheckpoint(given)
  if (signed?.checkpoint.vaultID === vaultID) return signed
  throw fault('invalid_request', { index })`checkpoints[${index}] is not a checkpoint of this vault.`
}
