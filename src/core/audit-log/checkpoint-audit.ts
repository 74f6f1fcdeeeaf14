/** Signs the heads of all chains of the audit trail, and hands the checkpoint to a place that the vault cannot change. */
import type { SignedCheckpoint } from '../audit/checkpoint.ts'
import { checkpointBytes, createCheckpoint, signedCheckpoint } from '../audit/checkpoint.ts'
import type { Signer } from '../ports/signer.ts'
import type { AuditContext } from './audit-context.ts'
import { allReadable, readHeads } from './read-trail.ts'

/** Who signs a checkpoint, and who keeps it. */
export interface CheckpointOptions {
  /** An Ed25519 key, such as `ed25519Signer({ … })`. */
  readonly signer: Signer
  /** Keeps the checkpoint where writers of the database cannot change it: another account, an append-only bucket, a printer. */
  sink?(checkpoint: SignedCheckpoint): Promise<void>
}

/** The signed checkpoint, once the sink has it. Reads one small row for each chain. Throws `data_loss` where a head fails authentication. */
export async function checkpointAudit(context: AuditContext, { signer, sink }: CheckpointOptions): Promise<SignedCheckpoint> {
  const { vaultID, accountID, hash, clock } = context
  const heads = allReadable(await readHeads(context))
  const checkpoint = createCheckpoint(heads, { vaultID, accountID, now: clock.now(), hash })
  const signed = signedCheckpoint(checkpoint, signer.keyId, await signer.sign(checkpointBytes(checkpoint)))
  await sink?.(signed)
  return signed
}
