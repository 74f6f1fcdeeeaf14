/** Reveal: one value of one record in plain text, for a stated purpose. Its event is one of detokenizing, with the record, the column and the purpose. */
import { unknownColumn } from '../barrier/record-errors.ts'
import { revealRows } from '../barrier/reveal.ts'
import { fault } from '../errors.ts'
import { parseTable, toIds } from '../execution/check-input.ts'
import { allOf, findRecords } from '../execution/find-records.ts'
import { requireAccess } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { purposeOf } from '../policy/caller.ts'
import { forbidden } from '../policy/create-access.ts'
import type { Table } from '../schema/layout.ts'
import { at } from '../util/lists.ts'
import { visibleLength } from '../util/purpose.ts'
import type { ValueTypes } from '../values/column-type.ts'

/** Input of a reveal. */
export interface RevealInput {
  readonly table: string
  readonly id: string
  readonly column: string
}

/** A parsed reveal, before grants are checked. */
export interface RevealRequest {
  readonly table: Table
  readonly ids: readonly string[]
  readonly column: unknown
}

/** A revealed value, as a field of a record has it. */
export interface RevealedValue {
  readonly value: unknown
  readonly type: keyof ValueTypes
}

/** Minimum length of the purpose of a reveal, in visible characters. Any purpose has at most 128 characters. */
const MIN_PURPOSE_LENGTH = 4

/**
 * Returns one value. Needs READ of the column in plain text and, where it has a token, DETOKENIZATION. Throws `unprocessable` without a purpose of
 * 4 to 128 characters, `forbidden`, `not_found`, and `invalid_request` for a column that the caller does not know.
 */
export const reveal: Operation<RevealInput, RevealRequest, RevealedValue> = {
  action: 'DETOKENIZE',
  resourceType: 'RECORD',
  verb: 'Reveal',
  members: ['table', 'id', 'column'],
  recorded: { table: 'name', id: 'value', column: 'name' },
  parse({ table: name, id, column }, context) {
    const table = parseTable(context, name)
    return { table, ids: toIds([id]), column }
  },
  async execute(context, { table, ids, column: name }) {
    const { caller, barrier, event } = context
    if (visibleLength(purposeOf(caller) ?? '') < MIN_PURPOSE_LENGTH)
      throw fault(
        'unprocessable',
      )`A purpose of ${MIN_PURPOSE_LENGTH} to 128 characters is required. State why the value is needed.`
    const access = requireAccess(context, table, 'READ')
    const column = typeof name === 'string' ? table.byName.get(name) : undefined
    // A transient value is not read with its record.
    if (column === undefined || !access.possiblyVisible(column) || !table.readable.includes(column))
      throw unknownColumn(table.name, name)
    const { rows } = await findRecords(context, access, allOf(ids))
    const found = at(rows, 0)
    // A refusal names the record as well.
    event.addRows(table, [found.row.id])
    const view = found.access.view(column, 'PLAIN_TEXT')
    if (view?.level !== 'PLAIN_TEXT') throw forbidden(caller, 'READ', table)
    if (column.token !== undefined && !found.access.allows('DETOKENIZATION', column))
      throw forbidden(caller, 'DETOKENIZATION', table)
    event.addViews([{ level: view.level }])
    const [fields] = revealRows(barrier, table, [found.row], { views: [view], asTexts: false })
    return { value: fields?.[column.name], type: column.type.name }
  },
}
