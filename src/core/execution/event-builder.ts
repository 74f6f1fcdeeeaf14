/** The event of a running operation: its caller, its request, the shape of its input, and the rows that it reads and writes. */
import { v4 as uuid } from 'uuid'
import {
  type EventContext,
  type EventDraft,
  type EventRows,
  isOfChange,
  type Outcome,
  type ResourceType,
  type SeenAs,
  SUCCESS,
  toRuns,
} from '../audit/event.ts'
import { type Members, recordInput } from '../audit/record-shape.ts'
import type { Barrier, DigestMismatch } from '../barrier/barrier.ts'
import { UNKNOWN_NAME } from '../errors.ts'
import { type Caller, purposeOf, type RequestContext } from '../policy/caller.ts'
import type { Span } from '../ports/observability.ts'
import { higherLevel, type RedactionLevel } from '../redaction.ts'
import type { Column, ColumnView } from '../schema/column-layout.ts'
import type { Layout, Table } from '../schema/layout.ts'
import { toHex, type Writable } from '../util/bytes.ts'
import { type EventPart, nestedOutcomes, type RowCounts } from './event-parts.ts'

/** Rows of one table whose digests of one column do not agree with their values. */
export interface MismatchedRows {
  readonly table: Table
  readonly column: Column
  readonly rows: ReadonlySet<number>
}

/** The names that a query reads: names of the schema, and *UNKNOWN* for any other. */
export interface NamesRead {
  readonly tables: readonly string[]
  readonly columns: readonly string[]
  readonly filters: readonly string[]
}

/** What is known of an event when its operation begins. */
export type EventStart = Pick<EventDraft, 'context' | 'action' | 'resourceType' | 'content'>

/** Rows of one table. */
interface TableRows {
  readonly table: string
  readonly rows: readonly number[]
}

/** One row of a table. A class, because V8 makes its objects young: each item of a batch has one until the batch ends. */
class OneRow implements TableRows {
  readonly table: string
  readonly #row: number

  constructor(table: string, row: number) {
    this.table = table
    this.#row = row
  }

  get rows(): readonly number[] {
    return [this.#row]
  }
}

const NO_TABLES: readonly string[] = []
const NO_ROWS: ReadonlyMap<string, ReadonlySet<number>> = new Map()

/** The event of one running operation. `build` can be called several times, for different outcomes. */
export class EventBuilder {
  #table: string | undefined
  #resourceType: ResourceType | undefined
  /** As they were added: an event that is not built needs no more. */
  #added: TableRows[] | undefined
  #written: TableRows | undefined
  #mismatches: Map<Column, MismatchedRows & { readonly rows: Set<number> }> | undefined
  #tables: readonly string[] = NO_TABLES
  #names: NamesRead | undefined
  #hasWritten = false
  #isRepeated = false
  #credential: string | undefined
  #seenAs: SeenAs | undefined
  #level: RedactionLevel | undefined
  #parts: (() => Iterable<EventPart>) | undefined

  /** `table` is the table of the operation, if it is known. */
  constructor(table?: string) {
    this.#table = table
  }

  /** Sets the table of the operation. */
  setTable(table: Table): void {
    this.#table = table.name
  }

  /** Sets what the operation is about, if that depends on its input. */
  setResourceType(type: ResourceType): void {
    this.#resourceType = type
  }

  /** The table of the operation. */
  get table(): string | undefined {
    return this.#table
  }

  /** Sets the tables that a read is about, beside the rows it returns. Names that the schema does not have are left out. */
  setTables(tables: readonly string[]): void {
    this.#tables = tables.filter((name) => name !== UNKNOWN_NAME)
  }

  /** Sets the names that a query reads. */
  setNames(names: NamesRead): void {
    this.#names = names
    this.setTables(names.tables)
  }

  /** The names that a query reads; undefined for other operations. */
  get names(): NamesRead | undefined {
    return this.#names
  }

  /** Says that nothing was written, because the idempotency key was that of an earlier write. */
  setRepeated(): void {
    this.#isRepeated = true
    this.#written = undefined
  }

  /** True for such a repeat. */
  get isRepeated(): boolean {
    return this.#isRepeated
  }

  /** Sets the key id of the credential that the operation is about. It is one that is stored, so it contains no value. */
  setCredential(keyId: string): void {
    this.#credential = keyId
  }

  /** Sets as whom records are looked at. */
  setSeenAs(seenAs: SeenAs): void {
    this.#seenAs = seenAs
  }

  /**
   * Adds what values are shown by: the event has the highest level of all. Columns that the schema itself shows in plain text count for nothing,
   * so that a listing of masked names beside countries is one of masked values.
   */
  addViews(views: Iterable<Pick<ColumnView, 'level'> & Partial<ColumnView>>): void {
    for (const { level, column } of views) if (column?.level !== 'PLAIN_TEXT') this.#level = higherLevel(this.#level, level)
  }

  /** The highest level at which values are shown, with those of its parts that succeeded. */
  get level(): RedactionLevel | undefined {
    let level = this.#level
    for (const { event, outcome } of this.parts) if (outcome === SUCCESS) level = higherLevel(level, event.level)
    return level
  }

  /** Adds rows that were read or found. */
  addRows(table: Table, rows: readonly number[]): void {
    if (rows.length === 0) return
    const added = { table: table.name, rows }
    // Most operations add rows once, and a list that is empty at first takes memory for many.
    if (this.#added === undefined) this.#added = [added]
    else this.#added.push(added)
  }

  /** Returns the rows that were read or found, once each, by table. */
  #readRows(): ReadonlyMap<string, ReadonlySet<number>> {
    if (this.#added === undefined) return NO_ROWS
    const read = new Map<string, Set<number>>()
    for (const { table, rows } of this.#added) {
      const known = read.get(table)
      if (known === undefined) read.set(table, new Set(rows))
      else for (const row of rows) known.add(row)
    }
    return read
  }

  /** Returns the rows that were read or found if they are one: it is in no list twice. */
  #singleRow(): TableRows | undefined {
    const only = this.#added?.length === 1 ? this.#added[0] : undefined
    return only?.rows.length === 1 ? only : undefined
  }

  /** Sets the rows that were written, in place of any set before: a write may have run again. */
  setWrittenRows(table: Table, rows: readonly number[]): void {
    this.#hasWritten = true
    this.#written = rows.length === 0 ? undefined : { table: table.name, rows }
  }

  /** The same for one row. */
  setWrittenRow(table: Table, row: number): void {
    this.#hasWritten = true
    this.#written = new OneRow(table.name, row)
  }

  /** True after rows were written, whether or not they are kept. */
  get hasWritten(): boolean {
    return this.#hasWritten
  }

  /** Sets what returns the parts of an operation that consists of others. */
  setParts(parts: () => Iterable<EventPart>): void {
    this.#parts = parts
  }

  /** The parts of an operation that consists of others. */
  get parts(): Iterable<EventPart> {
    return this.#parts?.() ?? []
  }

  /** Returns how many rows were read and written, with those of its parts that succeeded. */
  countRows(): RowCounts {
    let read = 0
    let written = 0
    for (const rows of this.#readRows().values()) read += rows.size
    for (const [, count] of toRuns(this.#written?.rows ?? [])) written += count
    for (const { event, outcome } of this.parts) {
      if (outcome !== SUCCESS) continue
      const counts = event.countRows()
      read += counts.read
      written += counts.written
    }
    return { read, written }
  }

  /** Adds a row whose digest does not agree with its value. A row that is seen several times counts once. */
  addMismatch({ table, column, row }: DigestMismatch): void {
    this.#mismatches ??= new Map()
    const known = this.#mismatches.get(column)
    if (known === undefined) this.#mismatches.set(column, { table, column, rows: new Set([row]) })
    else known.rows.add(row)
  }

  /** True if a row with a wrong digest was seen. */
  get hasMismatches(): boolean {
    return this.#mismatches !== undefined
  }

  /** Returns the rows with a wrong digest, by column. */
  get mismatches(): readonly MismatchedRows[] {
    return this.#mismatches === undefined ? [] : [...this.#mismatches.values()]
  }

  /** Returns the rows of the event. Written rows are left out if the change was refused. */
  rowsOf(outcome: Outcome): readonly EventRows[] {
    const single = this.#singleRow()
    const read =
      single === undefined
        ? [...this.#readRows()].map(([table, ids]) => ({ table, runs: toRuns([...ids]) }))
        : [{ table: single.table, runs: toRuns(single.rows) }]
    const written = this.#written
    if (written === undefined || !isOfChange(outcome)) return read
    return [...read, { table: written.table, runs: toRuns(written.rows) }]
  }

  /** Returns those rows of `rowsOf` that are of its first table, one by one; undefined if there are none. */
  firstRowsOf(outcome: Outcome): TableRows | undefined {
    if (this.#added === undefined) return isOfChange(outcome) ? this.#written : undefined
    const single = this.#singleRow()
    if (single !== undefined) return single
    for (const [table, rows] of this.#readRows()) return { table, rows: [...rows] }
    return undefined
  }

  /**
   * Returns the event, with its outcome, tables, rows, credential and nested outcomes, and with its resource type if the input decided it.
   * `rows` are given if the event is stored with the read of them.
   */
  build({ context, action, resourceType, content }: EventStart, outcome: Outcome, rows = this.rowsOf(outcome)): EventDraft {
    return {
      context,
      action,
      resourceType: this.#resourceType ?? resourceType,
      content,
      code: outcome.code,
      level: outcome === SUCCESS ? this.level : undefined,
      message: outcome.message,
      table: this.#table,
      tables: this.#tables.length === 0 ? undefined : this.#tables,
      rows: rows.length === 0 ? undefined : rows,
      seenAs: this.#seenAs,
      credential: this.#credential,
      nested: this.#parts === undefined ? undefined : nestedOutcomes(this.#parts(), outcome),
    }
  }
}

/** Returns the input as its event records it; empty text if a getter of the input throws. */
export function recordedInput(
  { layout }: { readonly layout: Pick<Layout, 'names'> },
  { recorded }: { readonly recorded: Members },
  given: object,
): string {
  try {
    // Copied, so that each getter runs once. An operation also reads options that its input inherits.
    const members: { options?: unknown } = { ...given }
    if (!Object.hasOwn(members, 'options') && 'options' in given) members.options = given.options
    return recordInput(members, recorded, (text) => layout.names.has(text))
  } catch {
    return ''
  }
}

/** Maximum number of columns that an event lists. Of the others, only the count is recorded. */
const MAX_NAMES = 100

/** Returns the recorded input with the names that a query reads, or with `repeated` for a write that an earlier one had done. */
export function withNames(content: string, { names, isRepeated }: Pick<EventBuilder, 'names' | 'isRepeated'>): string {
  if (isRepeated) return JSON.stringify({ ...(content === '' ? {} : JSON.parse(content)), repeated: true })
  if (names === undefined) return content
  const { tables, columns, filters } = names
  const input: object = content === '' ? {} : JSON.parse(content)
  return JSON.stringify({ ...input, tables, columns: atMost(columns), filters: atMost(filters) })
}

function atMost(names: readonly string[]): readonly unknown[] {
  return names.length <= MAX_NAMES ? names : [...names.slice(0, MAX_NAMES), { more: names.length - MAX_NAMES }]
}

/** Maximum length of an email address in an event, in UTF-16 units. No address is longer. */
const MAX_EMAIL_LENGTH = 320

/** Returns the caller and request of an event. Generates required ids that the caller did not give. */
export function requestContextOf(
  { caller, barrier }: { readonly caller: Caller; readonly barrier: Barrier },
  span: Span | undefined,
): EventContext {
  const { request = NO_REQUEST } = caller
  const context: Writable<EventContext> = {
    requestID: request.requestID ?? uuid({ random: barrier.entropy.bytes(16) }),
    traceID: request.traceID ?? traceIdOf(request.traceparent) ?? traceIdOfSpan(span) ?? toHex(barrier.entropy.bytes(16)),
    actor: caller.actor,
    actorType: caller.actorType,
    accessType: request.accessType ?? 'API',
    ipAddress: request.ipAddress ?? '',
    authMode: request.authMode ?? 'STS',
    jwtID: request.jwtID ?? '',
  }
  for (const member of OPTIONAL) {
    const given = request[member]
    if (given !== undefined) context[member] = given
  }
  const purpose = purposeOf(caller)
  if (purpose !== undefined) context.purpose = purpose
  const email = caller.context?.email
  if (typeof email === 'string' && email.length <= MAX_EMAIL_LENGTH) context.userEmail = email
  return context
}

const NO_REQUEST: RequestContext = {}

/** The members of a request that are recorded as they were given, or not at all. */
const OPTIONAL = ['sessionID', 'origin', 'bearerTokenContextID', 'keyID', 'subject', 'clientTraceID'] as const

/** Returns the trace id of a span; undefined for text of another form, or if the span throws. */
function traceIdOfSpan(span: Span | undefined): string | undefined {
  try {
    const traceId: unknown = span?.traceId
    return typeof traceId === 'string' && TRACE_ID.test(traceId) ? traceId : undefined
  } catch {
    return undefined
  }
}

const TRACE_ID = /^[0-9a-f]{32}$/

/** Hex digits: version 2 | trace id 32 | parent id 16 | flags 2. No id is all zeros. Later versions can have more after a dash. Version ff is invalid. */
const TRACE_PARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/

/** Returns the trace id of a header; undefined if it is absent or malformed. A malformed header never fails a request. */
export function traceIdOf(header: string | undefined): string | undefined {
  const found = header === undefined ? null : TRACE_PARENT.exec(header)
  if (found === null || (found[1] === '00' && found[3] !== undefined)) return undefined
  return found[2]
}
