/** What writers tried and what the vault acknowledged, as lines of a file that outlives a killed process. */
import { existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { ErrorCode } from '../../../src/index.ts'
import type { AccountState } from './trial-vault.ts'

/** The tokens of an account, as its writer received them. */
export interface AccountTokens {
  readonly card: string
  readonly code: string
  readonly reference: string
}

/** The accounts that one request changes: their new states, or null for deleted ones. */
export type Changes = Readonly<Record<string, AccountState | null>>

/** What a writer notes before a request. */
export interface Attempt {
  readonly step: 'attempt'
  readonly request: string
  readonly writer: string
  readonly kind: string
  readonly changes: Changes
  /** The counter that it increments. */
  readonly counter?: string
  /** How many reads it consists of, if it changes nothing. Each has an event of its own. */
  readonly reads?: number
}

/** What a writer notes when the vault has acknowledged a request. */
export interface Acknowledged {
  readonly step: 'acknowledged'
  readonly request: string
  /** Ids of the accounts it made. */
  readonly ids: Readonly<Record<string, string>>
  readonly tokens: Readonly<Record<string, AccountTokens>>
  /** True if the request was rolled back on purpose, so that its changes are not stored. */
  readonly rolledBack?: boolean
}

/** What a writer notes when a request failed. */
export interface Failed {
  readonly step: 'failed'
  readonly request: string
  readonly code: ErrorCode | 'none'
  /** Message of an error that the trial does not expect. */
  readonly unexpected?: string
}

export type LedgerLine = Attempt | Acknowledged | Failed

/** A request and what became of it. `end` is undefined if its process was killed first. */
export interface LedgerEntry {
  readonly attempt: Attempt
  end: Acknowledged | Failed | undefined
}

/** Appends lines. Each is one write, so that a kill leaves at most the last one incomplete. */
export interface LedgerWriter {
  write(line: LedgerLine): void
}

export function ledgerWriter(file: string): LedgerWriter {
  const descriptor = openSync(file, 'a')
  return { write: (line) => void writeSync(descriptor, `${JSON.stringify(line)}\n`) }
}

/** Returns the requests of a ledger in the order of their attempts. Ignores an incomplete last line. */
export function readLedger(file: string): LedgerEntry[] {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return ledgerEntries(text.split('\n').slice(0, -1))
}

/** Returns the requests of these lines in the order of their attempts. */
export function ledgerEntries(lines: readonly string[]): LedgerEntry[] {
  const entries = new Map<string, LedgerEntry>()
  for (const text of lines) {
    const line: LedgerLine = JSON.parse(text)
    if (line.step === 'attempt') {
      entries.set(line.request, { attempt: line, end: undefined })
      continue
    }
    const entry = entries.get(line.request)
    if (entry === undefined) throw new Error(`The ledger ends request ${line.request}, which it does not begin.`)
    entry.end = line
  }
  return [...entries.values()]
}

/** Whether a request may or may not have been stored: nothing is known of it. */
export function isInDoubt({ end }: LedgerEntry): boolean {
  return end === undefined || (end.step === 'failed' && end.code === 'outcome_unknown')
}

/** Whether a request was acknowledged, and not rolled back on purpose. */
export function isStored({ end }: LedgerEntry): boolean {
  return end?.step === 'acknowledged' && end.rolledBack !== true
}
