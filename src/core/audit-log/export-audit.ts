/** The audit trail as lines, to be kept and checked elsewhere: every lane up to where it stood when the export began. */
import type { SignedCheckpoint } from '../audit/checkpoint.ts'
import { checkpointLine, endLine, eventLine, headerLine, headLine } from '../audit/export-lines.ts'
import { placeOfRow } from '../audit/place.ts'
import { VaultError } from '../errors.ts'
import { allReadable, eachEvent, readMarks } from './read-trail.ts'
import type { AuditTrail } from '../execution/context.ts'

/** What an export takes along. */
export interface ExportOptions {
  /** Checkpoints kept elsewhere, so that whoever checks the export has them at hand. */
  readonly checkpoints?: readonly SignedCheckpoint[]
}

/** One line after the other, without line ends. Throws `internal` where an event or a head does not open. */
export async function* exportAudit(trail: AuditTrail, options: ExportOptions = {}): AsyncGenerator<string> {
  const checkpoints = oldestFirst(options.checkpoints ?? [])
  const heads = allReadable(await readMarks(trail))
  const ends = new Map(heads.map(({ lane, sequence }) => [lane, sequence]))
  yield headerLine(trail.vaultID)
  for (const head of heads) yield headLine(head)
  for (const checkpoint of checkpoints) yield checkpointLine(checkpoint)
  let events = 0
  for await (const entries of eachEvent(trail)) {
    for (const { id, bytes } of entries) {
      const place = placeOfRow(id)
      // What came after the heads were read belongs to the next export.
      if (place !== undefined && place.sequence > (ends.get(place.lane) ?? 0)) continue
      if (bytes === undefined) throw unreadable()
      yield eventLine(trail.hash, bytes)
      events++
    }
  }
  yield endLine({ heads: heads.length, checkpoints: checkpoints.length, events })
}

/** Each checkpoint once, by its time. */
function oldestFirst(checkpoints: readonly SignedCheckpoint[]): SignedCheckpoint[] {
  const byTime = new Map(checkpoints.map((signed) => [signed.checkpoint.timestamp, signed]))
  return [...byTime].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, signed]) => signed)
}

function unreadable(): VaultError {
  return new VaultError('data_loss', 'Export failed. An event of the audit trail cannot be authenticated. Verify the trail.')
}
