/** The values of hidden columns: while a change of the schema puts one column in the place of another, every write stores both. */
import type { Values } from '../barrier/parse-record.ts'
import { cellDetail, inRecord, type RecordIndex } from '../barrier/record-errors.ts'
import { fault, words } from '../errors.ts'
import type { WrittenTable } from '../schema/layout.ts'
import { ValueError } from '../values/column-type.ts'
import type { WriteRequest } from './choose-tokens.ts'
import type { ChangeRequest } from './compare-stored.ts'

/**
 * Returns the request as it is stored: with the values of hidden columns, for which no token is supplied. Throws `unprocessable` for a value that the
 * column which takes its place does not take.
 */
export function withHidden<Request extends WriteRequest & Partial<Pick<ChangeRequest, 'levelOf'>>>(request: Request): Request {
  const { written } = request.table
  if (written === undefined) return request
  const { levelOf } = request
  return {
    ...request,
    table: written,
    records: request.records.map((values, position) => hiddenValues(written, values, request.indexes[position])),
    ...(levelOf !== undefined && {
      levelOf: (row: number, column: Parameters<typeof levelOf>[1]) => levelOf(row, column.origin ?? column),
    }),
  }
}

/** Returns the values of a record with those of hidden columns. */
export function hiddenValues(written: WrittenTable, values: Values, index: RecordIndex): Values {
  const all = [...values]
  for (const { column, convert } of written.hidden) {
    const { origin = column } = column
    try {
      const value = convert(values[origin.position])
      if (value !== null && value !== undefined) column.validate?.(value, column.type)
      all[column.position] = value
    } catch (error) {
      if (!(error instanceof ValueError)) throw error
      throw fault(
        'unprocessable',
        cellDetail(written, origin, index),
      )`Column ${origin.name} of table ${written.name} is being changed, and from now on ${words(error.message)}${inRecord(index)}.`
    }
  }
  return all
}
