/** Exports the audit trail as lines, to store and verify it elsewhere: each chain up to its head at the start of the export. */
import { fromRowId } from '../audit/chain-position.ts'
import type { SignedCheckpoint } from '../audit/checkpoint.ts'
import { writeLeaf } from '../audit/event-bytes.ts'
import { checkpointLine, endLine, eventLine, headerLine, headLine } from '../audit/export-lines.ts'
import { VaultError } from '../errors.ts'
import { readInput } from '../util/boundary.ts'
import { ByteWriter } from '../util/bytes.ts'
import { assertNotAborted, parseSignal, type Signal } from '../util/signal.ts'
import type { AuditContext } from './audit-context.ts'
import { allReadable, eachEvent, readHeads } from './read-trail.ts'

/** What an export includes besides events. */
export interface ExportOptions {
  /** Checkpoints that were stored elsewhere, for the verifier of the export. */
  readonly checkpoints?: readonly SignedCheckpoint[]
  /** An `AbortSignal`. When it is aborted, the export throws `cancelled` in place of the next line. It is incomplete then, and its verifier says so. */
  readonly signal?: Signal
}

/** Yields the lines, without line ends. Throws `cancelled` after an abort, and `data_loss` if an event or a head fails authentication. */
export async function* exportAudit(context: AuditContext, options: ExportOptions = {}): AsyncGenerator<string> {
  const checkpoints = readInput(() => oldestFirst(options.checkpoints ?? []))
  const signal = readInput(() => parseSignal(options.signal))
  assertNotAborted(signal)
  const heads = allReadable(await readHeads(context))
  const ends = new Map(heads.map(({ chain, sequence }) => [chain, sequence]))
  yield headerLine(context.vaultID)
  for (const head of heads) yield headLine(head)
  for (const checkpoint of checkpoints) yield checkpointLine(checkpoint)
  const leaf = new ByteWriter()
  let events = 0
  for await (const entries of eachEvent(context)) {
    for (const { id, bytes } of entries) {
      const position = fromRowId(id)
      // Events appended after the heads were read belong to the next export.
      if (position !== undefined && position.sequence > (ends.get(position.chain) ?? 0)) continue
      if (bytes === undefined) throw unreadable()
      assertNotAborted(signal)
      writeLeaf(leaf, bytes)
      yield eventLine(context.hash, leaf)
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
