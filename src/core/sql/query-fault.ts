/** From a fault at a place of a query to the error its caller hears. */
import type { ErrorCode } from '../errors.ts'
import { VaultError } from '../errors.ts'
import type { TextFaultKind } from '../expressions/text-fault.ts'
import { lineAndColumn, TextFault } from '../expressions/text-fault.ts'

/** Source: semantics, "Errors". */
const ANSWERS: Readonly<Record<TextFaultKind, { readonly code: ErrorCode; readonly grpcCode: number }>> = {
  syntax: { code: 'invalid_request', grpcCode: 3 },
  name: { code: 'invalid_request', grpcCode: 3 },
  unsupported: { code: 'invalid_request', grpcCode: 12 },
  limit: { code: 'invalid_request', grpcCode: 8 },
  range: { code: 'invalid_request', grpcCode: 11 },
  type: { code: 'rule_broken', grpcCode: 9 },
  rule: { code: 'rule_broken', grpcCode: 9 },
  level: { code: 'forbidden', grpcCode: 7 },
}

/** A table nobody defined: a name fault with an answer of its own. */
export interface UnknownTable {
  readonly table: string
  readonly at: number
}

/** What work answers; a fault of the query's text is thrown as a `VaultError` that tells line and column. */
export function explainingFaults<T>(text: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof TextFault) throw queryFault(text, error)
    throw error
  }
}

/** The error for a fault of this text. */
export function queryFault(text: string, fault: TextFault): VaultError {
  const { code, grpcCode } = ANSWERS[fault.kind]
  return new VaultError(code, sentenceAt(text, fault.at, fault.message), { grpcCode })
}

/** The error for a table that is not in the schema. `table` is fit to be repeated. */
export function unknownTable(text: string, { table, at }: UnknownTable): VaultError {
  const sentence = `Table ${table} does not exist. Specify a table of the schema.`
  return new VaultError('invalid_request', sentenceAt(text, at, sentence), { table, grpcCode: 5 })
}

/** The error for a query that was well asked but takes too much. */
export function tooMuch(sentence: string): VaultError {
  return new VaultError('invalid_request', `Query failed. ${sentence}`, { grpcCode: 8 })
}

function sentenceAt(text: string, at: number, sentence: string): string {
  const { line, column } = lineAndColumn(text, at)
  return `Query failed. Line ${line}, column ${column}: ${sentence}`
}
