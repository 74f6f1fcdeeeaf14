/** Signs the heads of all audit chains, and passes the checkpoint to a sink that the vault cannot change. */
import { checkpointBytes, createCheckpoint, type SignedCheckpoint, signedCheckpoint } from '../audit/checkpoint.ts'
import { fault } from '../errors.ts'
import type { Signer } from '../ports/crypto.ts'
import { readOptions } from '../util/options.ts'
import type { AuditContext } from './audit-context.ts'
import { allReadable, readHeads } from './read-trail.ts'

/** The signer of a checkpoint, and its sink. */
export interface CheckpointOptions {
  /** An Ed25519 key, such as `ed25519Signer({ … })`. */
  readonly signer: Signer
  /** Stores the checkpoint where writers of the database cannot change it: in another account, an append-only bucket, on paper. */
  sink?(checkpoint: SignedCheckpoint): Promise<void>
}

/** Returns the options as they were given. Throws `invalid_request` for a signer without its members, and for a sink that is not a function. */
export function parseCheckpointOptions(given: CheckpointOptions): CheckpointOptions {
  const { signer, sink } = readOptions<Partial<CheckpointOptions>>(given, ['signer', 'sink'], { of: 'checkpointAudit' })
  if (typeof signer?.keyId !== 'string' || typeof signer.sign !== 'function')
    throw fault('invalid_request')`Checkpoint failed. signer must be a signer, such as that of ed25519Signer().`
  if (sink !== undefined && typeof sink !== 'function')
    throw fault('invalid_request')`Checkpoint failed. sink must be a function.`
  return sink === undefined ? { signer } : { signer, sink }
}

/** Returns the signed checkpoint after the sink has stored it. Reads the catalog, and one small row for each chain. Throws `data_loss` if a head fails authentication. */
export async function checkpointAudit(context: AuditContext, { signer, sink }: CheckpointOptions): Promise<SignedCheckpoint> {
  const { vaultID, accountID, hash, clock, catalog, storage } = context
  await catalog.reload(storage)
  const heads = allReadable(await readHeads(context))
  const { generation, lookupVersion, roots } = catalog.keys
  const keys = { generation, lookupVersion, roots }
  const checkpoint = createCheckpoint(heads, { vaultID, accountID, now: clock.now(), hash, keys })
  const signed = signedCheckpoint(checkpoint, signer.keyId, await signer.sign(checkpointBytes(checkpoint)))
  await sink?.(signed)
  return signed
}
