/** Turns errors of a query's text into faults with line and column. */
import { Fault, printableName, type Sentence, say } from '../errors.ts'
import { LANGUAGE_ERROR_CODES, LanguageError, lineAndColumn } from '../expressions/language-error.ts'
import type { FromTable } from './select.ts'

/** Returns the result of `work`. A `LanguageError` is thrown as a fault with line and column. */
export function withQueryErrors<T>(text: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof LanguageError) throw toQueryError(text, error)
    throw error
  }
}

/** The fault for an error of this text: the code of its kind, with line and column. */
export function toQueryError(text: string, { kind, at, sentence }: LanguageError): Fault {
  return new Fault(LANGUAGE_ERROR_CODES[kind], sentenceAt(text, at, sentence))
}

/** The fault for a table of FROM that is not in the schema: `not_found`. */
export function unknownTableError(text: string, { table, at }: Pick<FromTable, 'table' | 'at'>): Fault {
  const sentence = say`Table ${table} does not exist. Specify a table of the schema.`
  return new Fault('not_found', sentenceAt(text, at, sentence), { table: printableName(table) })
}

function sentenceAt(text: string, at: number, sentence: Sentence): Sentence {
  const { line, column } = lineAndColumn(text, at)
  return say`Line ${line}, column ${column}: ${sentence}`
}
