/** Changes named columns of one record; concurrent changes of different columns all survive. */
import type { Byot } from '../barrier/brought-tokens.ts'
import { assertNoPointers, parseTokens } from '../barrier/brought-tokens.ts'
import type { StoredRecord } from '../barrier/mint-tokens.ts'
import { mintRecords } from '../barrier/mint-tokens.ts'
import { parseFields } from '../barrier/parse-record.ts'
import { readIds } from '../barrier/record-ids.ts'
import { VaultError } from '../errors.ts'
import { assertAllowed } from '../policy/decide.ts'
import { markedOf, storeChanges } from '../stores/record-store.ts'
import { toTimestamp } from '../util/timestamp.ts'
import type { OperationContext } from './context.ts'
import { assertOptions, byotOf, flagOf, recordsNotFound, tableOf } from './context.ts'

const VERB = 'Update'

/** Times a change begins again because others keep changing the same record. */
const MOST_ATTEMPTS = 1000

/** Options of an update. */
export interface UpdateOptions {
  /** Answer the tokens of the columns that were given a value. Default false. */
  readonly tokenization?: boolean
  /** Whether the change may, or must, bring tokens of its own. Default DISABLE. */
  readonly byot?: Byot
}

/** A changed record; `updatedAt` is RFC 3339 with nine decimals. */
export interface UpdatedRecord extends StoredRecord {
  readonly updatedAt: string
}

/** Writes the named columns, whole, and no others. Throws `not_found`, `rule_broken`, `conflict`, `invalid_request`; then nothing changed. */
export async function updateRecord(
  context: OperationContext,
  tableName: string,
  change: { readonly id: string; readonly fields: unknown; readonly tokens: unknown },
  options: UpdateOptions,
): Promise<UpdatedRecord> {
  const table = tableOf(context, tableName, VERB)
  assertOptions<UpdateOptions>(options, VERB, ['tokenization', 'byot'])
  const tokenization = flagOf(options.tokenization, VERB, 'tokenization')
  const mode = byotOf(options.byot, VERB)
  assertAllowed(context.caller, 'UPDATE', table)
  const values = parseFields(table, change.fields, { verb: VERB, index: 0 })
  if (values.every((value) => value === undefined)) {
    throw new VaultError('invalid_request', `${VERB} failed. Name at least one column of table ${table.name} to change.`, {
      table: table.name,
    })
  }
  const brought = [parseTokens(table, change.tokens, { mode, values, place: { verb: VERB, index: 0 } })]
  assertNoPointers(context.barrier.ring, context.layout, table, brought, VERB)
  const [position] = readIds(context.barrier.ring, table, [change.id])
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const [row] = position === undefined ? [] : await context.storage.get(table.physical.name, [position])
    if (row === undefined) throw recordsNotFound(table, VERB, [change.id], [0])
    const written = await storeChanges(context, table, [row], { records: [values], brought, verb: VERB, indexes: [0] })
    if (written === undefined) continue
    const wanted = tokenization ? markedOf(written, [values]) : undefined
    const [stored] = mintRecords(context.barrier.ring, table, written.ids, wanted)
    return { ...stored, id: change.id, updatedAt: toTimestamp(context.clock.now()) }
  }
  throw new VaultError(
    'unavailable',
    `${VERB} failed. The record of table ${table.name} is being changed too often. Try again.`,
    { table: table.name },
  )
}
