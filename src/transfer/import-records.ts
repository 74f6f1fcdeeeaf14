/** Imports records of a CSV or NDJSON source, in batches. Each batch commits with the place of the import, so that an import that is run again goes on. */
import { assertNotAborted } from '../core/util/signal.ts'
import type { OperationInput, OperationResult } from '../index.ts'
import {
  type CheckedImport,
  checkImport,
  type ImportOptions,
  type ImportSummary,
  openSource,
  type Reject,
} from './import-options.ts'
import { openRecords, type ReadRecord, type RecordSource } from './record-source.ts'

type Input = OperationInput<'importRecords'>
type Result = OperationResult<'importRecords'>
type Place = NonNullable<Input['place']>

/** What an import needs of a session: one in process, or of a client. */
export interface ImportSession {
  perform(name: 'importRecords', input: Input): Promise<Result>
}

/** An import that runs. */
interface Running {
  readonly session: ImportSession
  readonly options: CheckedImport
  readonly source: RecordSource
  readonly sourceName: string
  readonly totalBytes: number | undefined
}

/**
 * Imports the records of a source into one table, and returns what it did. Records that are refused are passed to `onReject`, and the others are stored.
 * Needs the grants of an insert. Throws `invalid_request` for a source that cannot be read, with the line; `failed_precondition` for another source than
 * the one that an import of this name began with; and what an insert throws that is about no record. What was stored by then stays, and the same call goes
 * on behind it.
 */
export async function importRecords(session: ImportSession, options: ImportOptions): Promise<ImportSummary> {
  const checked = checkImport(options)
  const { bytes, totalBytes, sourceName } = await openSource(checked)
  const source = await openRecords(bytes, checked)
  try {
    return await run({ session, options: checked, source, sourceName, totalBytes })
  } finally {
    await source.close()
  }
}

async function run(running: Running): Promise<ImportSummary> {
  const { options, source } = running
  const { batchSize, dryRun, name, signal } = options
  const { place: stored } = await begin(running)
  const skipped = stored?.records ?? 0
  let at = stored === undefined ? undefined : await goOn(running, stored)
  const rejectedBefore = stored?.rejected ?? 0
  const summary = { records: skipped, stored: 0, rejected: 0, skipped, rejectedBefore }
  for (;;) {
    assertNotAborted(signal)
    const read = await source.read(batchSize)
    if (read.length === 0) break
    const batch = divide(read, summary.records + 1)
    summary.records += read.length
    const to = { records: summary.records, digest: source.digest() }
    const place = { ...(at !== undefined && { from: at }), to, rejected: batch.rejects.length }
    const { rejects } = await send(running, batch.sent, dryRun ? undefined : place)
    const all = withRejects(batch, rejects)
    for (const reject of all) await options.onReject?.(reject, { isRepeated: false })
    summary.stored += read.length - all.length
    summary.rejected += all.length
    at = to
    await report(running, summary)
  }
  const isNew = stored?.isEnded !== true || summary.records > skipped
  if (name !== undefined && !dryRun && isNew && at !== undefined) await send(running, [], { from: at, to: at, isEnded: true })
  return summary
}

/** Asks for the stored place, and whether the columns of the source can be written. */
async function begin(running: Running): Promise<Result> {
  try {
    return await send(running, [], {})
  } catch (error) {
    throw running.source.explained(error)
  }
}

/** Reads up to the stored place, and has the vault compare what was read. Passes on the rejects of the last batch, which a run that was killed may not have. */
async function goOn(running: Running, { records, isEnded, last }: NonNullable<Result['place']>): Promise<Place['from']> {
  const { source, options } = running
  const start = isEnded ? records : last.from
  await source.skip(start, options.signal)
  const read = await source.read(records - start)
  const from = { records: start + read.length, digest: source.digest() }
  await send(running, [], { from })
  for (const reject of withRejects(divide(read, start + 1), last.rejects)) await options.onReject?.(reject, { isRepeated: true })
  return from
}

/** `place` is absent where it is neither compared nor stored. */
function send(
  { session, options, source, sourceName }: Running,
  records: Input['records'],
  place: Omit<Place, 'name' | 'source'> | undefined,
): Promise<Result> {
  const { table, name, upsert, allowShownText, dryRun, signal } = options
  return session.perform('importRecords', {
    table,
    records,
    options: {
      areTexts: source.areTexts,
      dryRun,
      ...(source.hasTokens && { byot: 'ENABLE' }),
      ...(upsert !== undefined && { upsert }),
      ...(allowShownText !== undefined && { allowShownText }),
      ...(signal !== undefined && { signal }),
      ...(records.length === 0 && source.columns !== undefined && { columns: source.columns }),
    },
    ...(name !== undefined && place !== undefined && { place: { ...place, name, source: sourceName } }),
  })
}

/** A batch: the records that are sent, where each is, and those that cannot be. */
interface Batch {
  readonly sent: Input['records'][number][]
  readonly positions: { readonly record: number; readonly line: number }[]
  readonly rejects: Reject[]
}

/** `first` is the position of the first record in the source. */
function divide(read: readonly ReadRecord[], first: number): Batch {
  const batch: Batch = { sent: [], positions: [], rejects: [] }
  for (const [index, { line, record, refused }] of read.entries()) {
    const position = { record: first + index, line }
    if (refused !== undefined) batch.rejects.push({ ...position, ...refused })
    if (record === undefined) continue
    batch.sent.push(record)
    batch.positions.push(position)
  }
  return batch
}

/** Returns all rejects of a batch in the order of the source. */
function withRejects({ rejects, positions }: Batch, ofVault: Result['rejects']): Reject[] {
  const located = ofVault.flatMap(({ index, ...reject }) => {
    const position = positions[index]
    return position === undefined ? [] : [{ ...position, ...reject }]
  })
  return [...rejects, ...located].sort((left, right) => left.record - right.record)
}

async function report(
  { options, source, totalBytes }: Running,
  { records, rejected, rejectedBefore }: ImportSummary,
): Promise<void> {
  await options.onProgress?.({
    records,
    rejected: rejectedBefore + rejected,
    bytes: source.bytes,
    ...(totalBytes !== undefined && { totalBytes }),
  })
}
