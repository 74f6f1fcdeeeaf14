/** From a fault at a place of a query to the error its caller hears. */
import type { ErrorCode } from '../errors.ts'
import { VaultError } from '../errors.ts'
import type { TextFaultKind } from '../expressions/text-fault.ts'
import { lineAndColumn, TextFault } from '../expressions/text-fault.ts'

/** Source: semantics, "Errors". */
const ANSWERS: Readonly<Record<TextFaultKind, ErrorCode>> = {
  syntax: 'invalid_request',
  name: 'invalid_request',
  unsupported: 'unsupported',
  limit: 'limit_exceeded',
  range: 'out_of_range',
  type: 'unprocessable',
  rule: 'unprocessable',
  level: 'forbidden',
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
  return new VaultError(ANSWERS[fault.kind], sentenceAt(text, fault.at, fault.message))
}

/** The error for a table that is not in the schema. `table` is fit to be repeated. */
export function unknownTable(text: string, { table, at }: UnknownTable): VaultError {
  const sentence = `Table ${table} does not exist. Specify a table of the schema.`
  return new VaultError('not_found', sentenceAt(text, at, sentence), { table })
}

/** The error for a query that was well asked but takes too much. */
export function tooMuch(sentence: string): VaultError {
  return new VaultError('limit_exceeded', `Query failed. ${sentence}`)
}

function sentenceAt(text: string, at: number, sentence: string): string {
  const { line, column } = lineAndColumn(text, at)
  return `Query failed. Line ${line}, column ${column}: ${sentence}`
}
