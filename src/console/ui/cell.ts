/** What a caller sees of one cell. The state is what the vault says, never the look of a value: a customer may be called `A*******`. */
import type { ColumnDescription, Level, UntypedRecord } from '../app/contract.ts'
import { revealedOf } from './revealed.ts'

/** One cell. */
export type Cell =
  | { readonly state: 'plain' | 'masked'; readonly value: unknown }
  | { readonly state: 'revealed'; readonly value: unknown; readonly until: number }
  | { readonly state: 'redacted' | 'hidden' | 'null' }

/** Returns the cell of a column. With the name of the table, a value that is revealed now comes first. */
export function cellOf(record: Pick<UntypedRecord, 'id' | 'fields' | 'levels'>, column: string, table?: string): Cell {
  const shown = table === undefined ? undefined : revealedOf(table, record.id, column)
  if (shown !== undefined) return { state: 'revealed', ...shown }
  if (!Object.hasOwn(record.fields, column)) return { state: 'hidden' }
  const value = record.fields[column]
  const { levels = {} } = record
  const level = Object.hasOwn(levels, column) ? levels[column] : undefined
  if (level === 'REDACTED') return { state: 'redacted' }
  if (value === null) return { state: 'null' }
  return { state: level === 'MASKED' ? 'masked' : 'plain', value }
}

/** How much of a column is shown: a level, nothing, or it depends on the record. */
export type ColumnLevel = Level | 'NONE' | 'VARIES'

/** The word for each. */
export const LEVEL_WORDS: Readonly<Record<ColumnLevel, string>> = {
  PLAIN_TEXT: 'plain',
  MASKED: 'masked',
  REDACTED: 'redacted',
  NONE: 'not shown',
  VARIES: 'depends on the record',
}

const ORDER: readonly Level[] = ['REDACTED', 'MASKED', 'PLAIN_TEXT']

/** Returns the level at which a column is shown without a request for another one. */
export function levelOf(column: ColumnDescription): ColumnLevel {
  const { decision, level, highestLevel } = column.read
  if (decision === 'DENIED') return 'NONE'
  if (level === undefined || decision === 'CONDITIONAL' || level !== highestLevel) return 'VARIES'
  return defaultLevel(column, level)
}

/** True if a cell of the column may be shown in plain text, and is not by default. The vault decides, by the record and the purpose. */
export function canReveal(column: ColumnDescription): boolean {
  const { tokenKind, detokenize, read } = column
  if (read.decision === 'DENIED' || (tokenKind !== undefined && detokenize === 'DENIED')) return false
  if (read.lacks === 'purpose') return true
  return read.highestLevel === 'PLAIN_TEXT' && defaultLevel(column, 'PLAIN_TEXT') !== 'PLAIN_TEXT'
}

/** The lower one of the column's own level and the granted one. Without a mask, masked is redacted. */
function defaultLevel({ redaction, masked }: ColumnDescription, granted: Level): Level {
  const lower = ORDER.indexOf(granted) < ORDER.indexOf(redaction) ? granted : redaction
  return lower === 'MASKED' && !masked ? 'REDACTED' : lower
}

/** Returns a value as text: of JSON its text, of everything else what it is. */
export function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
