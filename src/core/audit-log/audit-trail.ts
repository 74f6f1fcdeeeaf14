/** Verifies, exports and signs the audit trail as a whole, outside any transaction. */
import { fromRowId } from '../audit/chain.ts'
import { ChainVerifier, type VerificationResult } from '../audit/chain-verifier.ts'
import {
  checkpointBytes,
  createCheckpoint,
  findDivergence,
  parseCheckpoint,
  positionsOf,
  type SignedCheckpoint,
  signatureBytes,
  signedCheckpoint,
} from '../audit/checkpoint.ts'
import { checkpointLine, endLine, eventLine, headerLine, headLine } from '../audit/export-lines.ts'
import { writeLeaf } from '../audit/read-event.ts'
import type { Barrier } from '../barrier/barrier.ts'
import { fault, VaultError } from '../errors.ts'
import type { Job } from '../maintenance/job.ts'
import { type Hash, SIGNATURE_BYTES, type Signer } from '../ports/crypto.ts'
import type { Storage } from '../ports/storage.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import { readInput } from '../util/boundary.ts'
import { ByteWriter } from '../util/bytes.ts'
import { readOptions } from '../util/options.ts'
import { assertNotAborted, parseSignal, type Signal } from '../util/signal.ts'
import type { EventStore, KnownCatalog } from './event-store.ts'
import { allReadable, eachEvent, readable, readHeads } from './read-trail.ts'

/** The audit trail of one vault, and what reading it needs. */
export interface AuditTrail {
  readonly storage: Storage
  readonly events: EventStore
  readonly barrier: Barrier
  readonly catalog: KnownCatalog
  readonly clock: Clock
  readonly hash: Hash
  readonly scheduler: Scheduler
  readonly vaultID: string
  readonly accountID: string
}

/** Options of `verifyAudit`. */
export interface VerifyAuditOptions {
  /** Trusted checkpoints that the application stored elsewhere. With them, removing events from before a checkpoint is detected. */
  readonly checkpoints?: readonly SignedCheckpoint[]
}

/** Returns whether the trail is intact: each event is authentic and follows the one before, and each chain ends at its head. Events appended meanwhile are checked as far as they are read. Throws `invalid_request` for a checkpoint of another vault. */
export async function verifyAudit(trail: AuditTrail, given: VerifyAuditOptions, job: Job): Promise<VerificationResult> {
  const { hash, vaultID, catalog, storage } = trail
  const checkpoints = readInput(() => (given.checkpoints ?? []).map((checkpoint, index) => parseOwn(vaultID, checkpoint, index)))
  if (checkpoints.length > 0) await catalog.reload(storage)
  if (checkpoints.some(({ checkpoint }) => checkpoint.keys.generation > catalog.keys.generation)) {
    const reason = 'The catalog is older than a checkpoint.'
    return { ok: false, eventCount: 0, firstFailure: { chain: 0, sequence: 0, reason } }
  }
  const heads = await readHeads(trail)
  const unreadable = heads.find(({ head }) => head === undefined)
  if (unreadable !== undefined) {
    const reason = `The head of chain ${unreadable.chain} cannot be read.`
    return { ok: false, eventCount: 0, firstFailure: { chain: unreadable.chain, sequence: 0, reason } }
  }
  const verifier = new ChainVerifier({ hash, vaultID, heads: readable(heads), watchedPositions: positionsOf(checkpoints) })
  job.expect(readable(heads).reduce((sum, { sequence }) => sum + sequence, 0))
  for await (const entries of eachEvent(trail)) {
    assertNotAborted(job.signal)
    for (const { id, at, bytes } of entries) verifier.add(id, bytes, at)
    await job.advance({ rows: entries.length })
  }
  const result = verifier.end(readable(await readHeads(trail)))
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

/** What an export includes besides events. */
export interface ExportOptions {
  /** Checkpoints that were stored elsewhere, for the verifier of the export. */
  readonly checkpoints?: readonly SignedCheckpoint[]
  /** An `AbortSignal`. When it is aborted, the export throws `cancelled` in place of the next line. It is incomplete then, and its verifier says so. */
  readonly signal?: Signal
}

/** Yields the lines, without line ends: each chain up to its head at the start. Throws `cancelled` after an abort, and `data_loss` if an event or a head fails authentication. */
export async function* exportAudit(trail: AuditTrail, options: ExportOptions = {}): AsyncGenerator<string> {
  const checkpoints = readInput(() => oldestFirst(options.checkpoints ?? []))
  const signal = readInput(() => parseSignal(options.signal))
  assertNotAborted(signal)
  const heads = allReadable(await readHeads(trail))
  const ends = new Map(heads.map(({ chain, sequence }) => [chain, sequence]))
  yield headerLine(trail.vaultID)
  for (const head of heads) yield headLine(head)
  for (const checkpoint of checkpoints) yield checkpointLine(checkpoint)
  const leaf = new ByteWriter()
  let events = 0
  for await (const entries of eachEvent(trail)) {
    for (const { id, bytes } of entries) {
      const position = fromRowId(id)
      // Events appended after the heads were read belong to the next export.
      if (position !== undefined && position.sequence > (ends.get(position.chain) ?? 0)) continue
      if (bytes === undefined) throw unreadable()
      assertNotAborted(signal)
      writeLeaf(leaf, bytes)
      yield eventLine(trail.hash, leaf)
      events++
    }
  }
  yield endLine({ heads: heads.length, checkpoints: checkpoints.length, events })
}

/** Returns the checkpoints, oldest first, without duplicates. */
function oldestFirst(checkpoints: readonly SignedCheckpoint[]): SignedCheckpoint[] {
  const byTime = new Map(checkpoints.map((signed) => [signed.checkpoint.timestamp, signed]))
  return [...byTime].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, signed]) => signed)
}

function unreadable(): VaultError {
  return new VaultError('data_loss', 'Export failed. An event of the audit trail failed authentication. Run vault.verifyAudit().')
}

/** The signer of a checkpoint, and its sink. */
export interface CheckpointOptions {
  /** A key, such as `localSigner({ … })`. */
  readonly signer: Signer
  /** Stores the checkpoint where writers of the database cannot change it: in another account, an append-only bucket, on paper. */
  sink?(checkpoint: SignedCheckpoint): Promise<void>
}

/** Returns the options as they were given. Throws `invalid_request` for a signer without its members, and for a sink that is not a function. */
export function parseCheckpointOptions(given: CheckpointOptions): CheckpointOptions {
  const { signer, sink } = readOptions<Partial<CheckpointOptions>>(given, ['signer', 'sink'], { of: 'checkpointAudit' })
  if (!isSigner(signer))
    throw fault('invalid_request')`Checkpoint failed. signer must be a signer, such as that of localSigner().`
  if (sink !== undefined && typeof sink !== 'function')
    throw fault('invalid_request')`Checkpoint failed. sink must be a function.`
  return sink === undefined ? { signer } : { signer, sink }
}

/** True for a signer with its members. */
export function isSigner(given: Partial<Signer> | undefined): given is Signer {
  if (typeof given?.keyId !== 'string' || typeof given.sign !== 'function') return false
  return Object.hasOwn(SIGNATURE_BYTES, given.algorithm ?? 'Ed25519')
}

/** Returns the signed checkpoint after the sink has stored it. Reads the catalog, and one small row for each chain. Throws `data_loss` if a head fails authentication. */
export async function checkpointAudit(trail: AuditTrail, { signer, sink }: CheckpointOptions): Promise<SignedCheckpoint> {
  const { vaultID, accountID, hash, clock, catalog, storage } = trail
  await catalog.reload(storage)
  const heads = allReadable(await readHeads(trail))
  const { generation, lookupVersion, roots } = catalog.keys
  const keys = { generation, lookupVersion, roots }
  const checkpoint = createCheckpoint(heads, { vaultID, accountID, now: clock.now(), hash, keys })
  const signed = signedCheckpoint(checkpoint, signer, await signer.sign(checkpointBytes(checkpoint)))
  // A verifier would refuse it, when it is too late to sign again.
  if (signatureBytes(signed) === undefined)
    throw fault(
      'failed_precondition',
    )`Checkpoint failed. The signer returned a signature of another length than its algorithm has.`
  await sink?.(signed)
  return signed
}
