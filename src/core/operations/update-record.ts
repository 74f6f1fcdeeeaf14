/** Changes named columns of one record; concurrent changes of different columns all survive. */
import { amendRows } from '../barrier/admit.ts'
import { explainConflict } from '../barrier/explain-conflict.ts'
import type { StoredRecord } from '../barrier/mint-pointers.ts'
import { mintRecords, readIds } from '../barrier/mint-pointers.ts'
import { parseFields } from '../barrier/parse-record.ts'
import { VaultError } from '../errors.ts'
import { assertAllowed } from '../policy/decide.ts'
import { toTimestamp } from '../util/timestamp.ts'
import type { OperationContext } from './context.ts'
import { assertOptions, flagOf, recordsNotFound, tableOf } from './context.ts'

const VERB = 'Update'

/** Times a change begins again because others keep changing the same record. */
const MOST_ATTEMPTS = 1000

/** Options of an update. */
export interface UpdateOptions {
  /** Answer the tokens of the columns that were given a value. Default false. */
  readonly tokenization?: boolean
}

/** A changed record; `updatedAt` is RFC 3339 with nine decimals. */
export interface UpdatedRecord extends StoredRecord {
  readonly updatedAt: string
}

/** Writes the named columns, whole, and no others. Throws `not_found`, `rule_broken`, `conflict`, `invalid_request`; then nothing changed. */
export async function updateRecord(
  context: OperationContext,
  tableName: string,
  change: { readonly id: string; readonly fields: unknown },
  options: UpdateOptions,
): Promise<UpdatedRecord> {
  const table = tableOf(context, tableName, VERB)
  assertOptions<UpdateOptions>(options, VERB, ['tokenization'])
  const tokenization = flagOf(options.tokenization, VERB, 'tokenization')
  assertAllowed(context.caller, 'UPDATE', table)
  const values = parseFields(table, change.fields, { verb: VERB, index: 0 })
  if (values.every((value) => value === undefined)) {
    throw new VaultError('invalid_request', `${VERB} failed. Name at least one column of table ${table.name} to change.`, {
      table: table.name,
    })
  }
  const [position] = readIds(context.barrier.ring, table, [change.id])
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const [row] = position === undefined ? [] : await context.storage.get(table.physical.name, [position])
    if (row === undefined) throw recordsNotFound(table, VERB, [change.id], [0])
    const { rows, stamps } = amendRows(context.barrier, table, [row], [values])
    const matched = await context.storage.update(table.physical.name, rows).catch((error: unknown) => {
      throw explainConflict(error, table, VERB)
    })
    if (matched[0] !== true) continue
    const [stored] = mintRecords(context.barrier.ring, table, [row.id], tokenization ? stamps : undefined)
    return { ...stored, id: change.id, updatedAt: toTimestamp(context.clock.now()) }
  }
  throw new VaultError(
    'unavailable',
    `${VERB} failed. The record of table ${table.name} is being changed too often. Try again.`,
    { table: table.name },
  )
}
