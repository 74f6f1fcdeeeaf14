/** The lines of an export of a subject: its schema, records, files and events, and a manifest with a SHA-256 of each part. */

import { isVaultError } from '../errors.ts'
import type { SessionContext } from '../execution/context.ts'
import { perform } from '../execution/perform.ts'
import { openFile } from '../operations/open-file.ts'
import type { Hash } from '../ports/crypto.ts'
import type { UntypedRecord } from '../records/show-records.ts'
import { NONE_LOWERED } from '../redaction.ts'
import type { SchemaDescription } from '../schema/describe-schema.ts'
import type { Table } from '../schema/layout.ts'
import { beginExport, findNamingEvents, showExported } from '../subjects/export-subject.ts'
import type { SubjectInput } from '../subjects/find-subject.ts'
import { toHex, toUtf8 } from '../util/bytes.ts'
import { toSlab } from '../util/memory.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'
import { toBase64 } from '../util/text.ts'
import { toTimestamp } from '../util/time.ts'

/** Records that are shown together, with one event. */
const SLICE = 200
/** Length of a part in UTF-16 units, from which on the next one begins. */
const PART_LENGTH = 256 * 1024

/** What an export includes. */
export interface ExportedSubject extends SubjectInput {
  /** True for the contents of files, in base64. */
  readonly contents: boolean
  /** True for the events that name the records. */
  readonly events: boolean
  readonly signal: Signal | undefined
}

/** A part of the lines, as the manifest lists it: they are of one type, and follow each other. */
interface ExportedPart {
  readonly type: string
  readonly table?: string
  readonly lines: number
  /** Of the lines in UTF-8, each with a line feed: 64 hex digits. */
  readonly sha256: string
}

/** A line before it is text. */
interface Line {
  readonly type: string
  readonly table?: string
}

/** Yields the lines, without line ends. Throws `not_found`, `forbidden` and `cancelled`; the manifest is missing then. */
export async function* subjectLines(
  session: SessionContext,
  schema: SchemaDescription,
  { kind, id, contents, events, signal }: ExportedSubject,
): AsyncGenerator<string> {
  const { audit, clock } = session
  const parts = new Parts(audit.hash)
  const input = { kind, id }
  assertNotAborted(signal)
  const found = await perform(session, beginExport, input)
  yield parts.add({ type: 'export' }, { v: 1, vaultID: audit.vaultID, kind, id, at: toTimestamp(clock.now()) })
  for (const { name } of found.keys()) yield parts.add({ type: 'table', table: name }, { columns: schema[name] })
  for (const [table, all] of found) {
    const rows = [...all]
    for (let start = 0; start < rows.length; start += SLICE) {
      assertNotAborted(signal)
      const slice = { table, rows: new Map(rows.slice(start, start + SLICE)) }
      const records = await perform(session, showExported(slice), input)
      for (const { id: recordId, fields, levels = NONE_LOWERED } of records)
        yield parts.add(
          { type: 'record', table: table.name },
          { id: recordId, fields, ...(levels !== NONE_LOWERED && { levels }) },
        )
      for (const record of records) yield* fileLines(session, parts, { table, record, contents, signal })
    }
  }
  if (events)
    for (const event of await perform(session, findNamingEvents(found), input)) yield parts.add({ type: 'event' }, event)
  yield JSON.stringify({ type: 'manifest', parts: parts.end() })
}

/** A record, and what is asked of its files. */
interface RecordFiles extends Pick<ExportedSubject, 'contents' | 'signal'> {
  readonly table: Table
  readonly record: UntypedRecord
}

/** Yields a line for each file of a record, and then its content a piece at a time. A file that cannot be opened is named with the code of its error. */
async function* fileLines(
  session: SessionContext,
  parts: Parts,
  { table, record: { id, fields, fileMetadata = {} }, contents, signal }: RecordFiles,
): AsyncGenerator<string> {
  for (const { name: column } of table.files) {
    if (fields[column] === null || fields[column] === undefined) continue
    const line = { type: 'file', table: table.name }
    yield parts.add(line, { id, column, ...fileMetadata[column] })
    if (!contents) continue
    try {
      const options = signal === undefined ? {} : { options: { signal } }
      const { stream } = await perform(session, openFile, { table: table.name, id, column, ...options })
      let offset = 0
      for await (const bytes of stream) {
        yield parts.add(line, { id, column, offset, content: toBase64(bytes) })
        offset += bytes.length
      }
    } catch (error) {
      if (!isVaultError(error) || error.code === 'cancelled') throw error
      yield parts.add(line, { id, column, notOpened: error.code })
    }
  }
}

/** Digests lines as they are written. */
class Parts {
  readonly #hash: Hash
  readonly #parts: ExportedPart[] = []
  #line: Line = { type: '' }
  #lines = 0
  #text = ''

  constructor(hash: Hash) {
    this.#hash = hash
  }

  /** Returns the text of a line, which is of the part before if that is of its type and table, and not long. */
  add(line: Line, members: object): string {
    if (line.type !== this.#line.type || line.table !== this.#line.table || this.#text.length >= PART_LENGTH) this.#endPart()
    this.#line = line
    const text = JSON.stringify({ ...line, ...members })
    this.#text += `${text}\n`
    this.#lines++
    return text
  }

  /** Returns all parts. */
  end(): readonly ExportedPart[] {
    this.#endPart()
    return this.#parts
  }

  #endPart(): void {
    if (this.#lines > 0) {
      const sha256 = toHex(this.#hash.sha256(toSlab([toUtf8(this.#text)])))
      this.#parts.push({ ...this.#line, lines: this.#lines, sha256 })
    }
    this.#lines = 0
    this.#text = ''
  }
}
