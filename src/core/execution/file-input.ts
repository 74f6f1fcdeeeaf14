/** The input of operations on one file of a record. */
import type { Table } from '../schema/layout.ts'
import { at } from '../util/lists.ts'
import { requireTable, toIds } from './check-input.ts'
import type { ParsingContext } from './context.ts'
import type { Untrusted } from './operation.ts'

/** The file of a record. */
export interface FileInput {
  readonly table: string
  readonly id: string
  readonly column: string
}

/** A parsed request, before grants are checked. */
export interface FileRequest {
  readonly table: Table
  readonly id: string
  readonly column: unknown
}

/** What events record of the input. */
export const RECORDED_FILE = { table: 'name', id: 'value', column: 'name' } as const

/** Returns the request. Throws `not_found` for an unknown table. */
export function parseFileInput({ table: name, id, column }: Untrusted<FileInput>, context: ParsingContext): FileRequest {
  const table = requireTable(context, name)
  context.event.setTable(table)
  return { table, id: at(toIds([id]), 0), column }
}
