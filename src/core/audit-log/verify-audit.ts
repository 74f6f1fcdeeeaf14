/** Verifies the audit trail where it is stored: every event opens, follows the one before it, and every chain ends at its head. */
import type { ChainVerdict } from '../audit/chain-check.ts'
import { ChainCheck } from '../audit/chain-check.ts'
import type { SignedCheckpoint } from '../audit/checkpoint.ts'
import { departureFrom, parseCheckpoint, placesOf } from '../audit/checkpoint.ts'
import { VaultError } from '../errors.ts'
import type { AuditContext } from './audit-context.ts'
import { eachEvent, readable, readMarks } from './read-trail.ts'

/** What the trail is compared with. */
export interface VerifyAuditOptions {
  /** Checkpoints that the application kept elsewhere and trusts: events cut off before the last of them are noticed. */
  readonly checkpoints?: readonly SignedCheckpoint[]
}

/** The result over the trail as it is stored. Events appended while it is read are checked as far as they are met. */
export async function verifyAudit(context: AuditContext, options: VerifyAuditOptions = {}): Promise<ChainVerdict> {
  const { hash, vaultID } = context
  const checkpoints = (options.checkpoints ?? []).map((checkpoint, index) => parseOwn(vaultID, checkpoint, index))
  const heads = await readMarks(context)
  const lost = heads.find(({ mark }) => mark === undefined)
  if (lost !== undefined) {
    const what = `The head of chain ${lost.lane} cannot be read.`
    return { ok: false, events: 0, firstBroken: { lane: lost.lane, sequence: 0, what } }
  }
  const check = new ChainCheck({ hash, vaultID, heads: readable(heads), watched: placesOf(checkpoints) })
  for await (const entries of eachEvent(context)) {
    for (const { id, at, bytes } of entries) check.add(id, bytes, at)
  }
  const verdict = check.end(readable(await readMarks(context)))
  if (!verdict.ok) return verdict
  for (const { checkpoint } of checkpoints) {
    const departure = departureFrom(checkpoint, hash, (lane, sequence) => check.markAt(lane, sequence))
    if (departure !== undefined) return { ok: false, events: verdict.events, firstBroken: departure }
  }
  return verdict
}

/** A checkpoint of this vault. Throws `invalid_request` for anything else. */
function parseOwn(vaultID: string, given: unknown, index: number): SignedCheckpoint {
  const signed = parseCheckpoint(given)
  if (signed?.checkpoint.vaultID === vaultID) return signed
  throw new VaultError('invalid_request', `Verify failed. checkpoints[${index}] is not a checkpoint of this vault.`, { index })
}
