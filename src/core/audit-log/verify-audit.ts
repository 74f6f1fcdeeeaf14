/** Checks the whole audit trail where it is stored: every event opens, follows the one before it, and every lane ends at its head. */
import type { ChainVerdict } from '../audit/chain-check.ts'
import { ChainCheck } from '../audit/chain-check.ts'
import type { SignedCheckpoint } from '../audit/checkpoint.ts'
import { departureFrom, parseCheckpoint, placesOf } from '../audit/checkpoint.ts'
import { VaultError } from '../errors.ts'
import { eachEvent, readable, readMarks } from './read-trail.ts'
import type { AuditTrail } from '../execution/context.ts'

/** What a check may be held against. */
export interface VerifyOptions {
  /** Checkpoints kept elsewhere, which the application trusts: what was cut off since the last of them is noticed. */
  readonly checkpoints?: readonly SignedCheckpoint[]
}

/** The verdict over the trail as it stands; events appended while it is read are checked as far as they are met. */
export async function verifyAudit(trail: AuditTrail, options: VerifyOptions = {}): Promise<ChainVerdict> {
  const checkpoints = (options.checkpoints ?? []).map((checkpoint, index) => parseOwn(trail, checkpoint, index))
  const { hash, vaultID } = trail
  const heads = await readMarks(trail)
  const lost = heads.find(({ mark }) => mark === undefined)
  if (lost !== undefined) {
    const what = `The head of lane ${lost.lane} cannot be read.`
    return { ok: false, events: 0, firstBroken: { lane: lost.lane, sequence: 0, what } }
  }
  const check = new ChainCheck({ hash, vaultID, heads: readable(heads), watched: placesOf(checkpoints) })
  for await (const entries of eachEvent(trail)) {
    for (const { id, at, bytes } of entries) check.add(id, bytes, at)
  }
  const verdict = check.end(readable(await readMarks(trail)))
  if (!verdict.ok) return verdict
  for (const { checkpoint } of checkpoints) {
    const departure = departureFrom(checkpoint, hash, (lane, sequence) => check.markAt(lane, sequence))
    if (departure !== undefined) return { ok: false, events: verdict.events, firstBroken: departure }
  }
  return verdict
}

/** A checkpoint of this vault. Throws `invalid_request` for anything else. */
function parseOwn({ vaultID }: AuditTrail, given: unknown, index: number): SignedCheckpoint {
  const signed = parseCheckpoint(given)
  if (signed?.checkpoint.vaultID === vaultID) return signed
  throw new VaultError('invalid_request', `Verify failed. Checkpoint ${index} is none of this vault.`, { index })
}
