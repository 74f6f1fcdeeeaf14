/** Signs where every lane of the audit trail stands, and hands it out of the vault's reach. */
import type { SignedCheckpoint } from '../audit/checkpoint.ts'
import { checkpointBytes, createCheckpoint, signedCheckpoint } from '../audit/checkpoint.ts'
import { allReadable, readMarks } from './read-trail.ts'
import type { Signer } from '../ports/signer.ts'
import type { AuditTrail } from '../execution/context.ts'

/** Who signs, and who keeps. */
export interface CheckpointOptions {
  /** An Ed25519 key, such as `ed25519Signer({ … })`. */
  readonly signer: Signer
  /** Keeps the checkpoint where whoever can write the database cannot: another account, an append-only bucket, a printer. */
  sink?(checkpoint: SignedCheckpoint): Promise<void>
}

/** The signed checkpoint, once the sink has it. Costs a read of one small row for each lane. Throws `internal` where a head does not open. */
export async function checkpointAudit(trail: AuditTrail, { signer, sink }: CheckpointOptions): Promise<SignedCheckpoint> {
  const { vaultID, accountID, hash, clock } = trail
  const heads = allReadable(await readMarks(trail))
  const checkpoint = createCheckpoint(heads, { vaultID, accountID, now: clock.now(), hash })
  const signed = signedCheckpoint(checkpoint, signer.keyId, await signer.sign(checkpointBytes(checkpoint)))
  await sink?.(signed)
  return signed
}
