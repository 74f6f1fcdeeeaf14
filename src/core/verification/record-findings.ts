/** What a verification of records finds: counted by kind, and listed up to a limit. */
import { encodeRecordIds } from '../barrier/record-ids.ts'
import type { KeyRing } from '../ports/crypto.ts'
import type { Row } from '../ports/storage.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'

/** What is wrong with a record. docs/security.md has what each kind means. */
export type RecordFindingKind =
  | 'unreadable_record'
  | 'unreadable_value'
  | 'impossible_id'
  | 'impossible_version'
  | 'missing_digest'
  | 'wrong_digest'
  | 'unexpected_digest'
  | 'missing_token'
  | 'wrong_token'
  | 'unexpected_token'
  | 'missing_transient'
  | 'wrong_transient'
  | 'missing_file'
  | 'wrong_file'
  | 'duplicate_value'
  | 'missing_entry'
  | 'unexpected_entry'
  | 'unreadable_index'

/** One finding. It names where, and never holds a value or a token. */
export interface RecordFinding {
  readonly kind: RecordFindingKind
  readonly table: string
  /** Absent if the whole record is concerned. */
  readonly column?: string
  /**
   * Id of the record; absent for a stored token of a transient value that does not exist, and for a whole index. The record of an `unexpected_token` or an
   * `unexpected_entry` may not exist.
   */
  readonly id?: string
}

/** The result of a verification. */
export interface RecordVerificationResult {
  /** True if nothing was found. */
  readonly ok: boolean
  /** Number of records that were read. */
  readonly recordCount: number
  /** Number of those that no key opens, because their person was forgotten: of a backup from before, or stored meanwhile. Forget the person again. */
  readonly forgottenCount: number
  readonly findingCount: number
  /** Number of findings of each kind; kinds without findings are absent. */
  readonly counts: Readonly<Partial<Record<RecordFindingKind, number>>>
  /** The first findings, at most 100. */
  readonly findings: readonly RecordFinding[]
}

/** A finding about one row, before it is confirmed. Without a column it concerns the whole record. */
export interface Suspicion {
  readonly kind: RecordFindingKind
  readonly row: Row
  readonly column?: Column
}

/** Maximum number of findings that are listed. */
const MAX_FINDINGS = 100

/** Counts findings, and lists the first. */
export class RecordFindings {
  readonly #ring: KeyRing
  readonly #listed: RecordFinding[] = []
  readonly #counts: Partial<Record<RecordFindingKind, number>> = {}
  #findingCount = 0

  constructor(ring: KeyRing) {
    this.#ring = ring
  }

  /** Adds a finding about a row of a table; without a row id, about none. */
  add(table: Table, { kind, column }: Pick<Suspicion, 'kind' | 'column'>, row: number | undefined): void {
    this.#findingCount++
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1
    if (this.#listed.length === MAX_FINDINGS) return
    const [id] = row === undefined ? [] : encodeRecordIds(this.#ring, table, [row])
    this.#listed.push({
      kind,
      table: table.name,
      ...(column === undefined ? {} : { column: column.name }),
      ...(id === undefined ? {} : { id }),
    })
  }

  /** Returns the result of a verification that read these numbers of records. */
  result(read: Pick<RecordVerificationResult, 'recordCount' | 'forgottenCount'>): RecordVerificationResult {
    const findingCount = this.#findingCount
    return { ok: findingCount === 0, ...read, findingCount, counts: { ...this.#counts }, findings: [...this.#listed] }
  }
}
