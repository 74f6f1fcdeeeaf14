/** Changes named columns of one record; concurrent changes of different columns all survive. */
import type { Byot } from '../barrier/brought-tokens.ts'
import { assertNoPointers, parseTokens } from '../barrier/brought-tokens.ts'
import type { StoredRecord } from '../barrier/mint-tokens.ts'
import { mintRecords } from '../barrier/mint-tokens.ts'
import { parseFields } from '../barrier/parse-record.ts'
import { readIds } from '../barrier/record-ids.ts'
import { VaultError } from '../errors.ts'
import type { RowAccess, TableAccess } from '../policy/table-access.ts'
import { judgeRows } from '../row-access/evaluate-access.ts'
import type { Written } from '../records/record-store.ts'
import { markedOf, storeChanges } from '../records/record-store.ts'
import type { Writing } from '../records/write-request.ts'
import { toTimestamp } from '../util/timestamp.ts'
import { audited } from './audited.ts'
import type { OperationContext, SessionContext } from '../execution/context.ts'
import { assertOptions, byotOf, flagOf, recordsNotFound, tableOf } from '../execution/context.ts'
import { accessTo, assertNameable, beyondReach } from '../execution/grants.ts'

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

/** Writes the named columns, whole, and no others. Throws `not_found`, `unprocessable`, `conflict`, `invalid_request`; then nothing changed. */
export function updateRecord(
  session: SessionContext,
  tableName: string,
  { id, change: given }: { readonly id: string; readonly change: unknown },
  options: UpdateOptions,
): Promise<UpdatedRecord> {
  const body = () => ({ table: tableName, id, ...changeOf(given), ...options })
  return audited(session, { action: 'UPDATE', resourceType: 'RECORD', verb: VERB, body }, async (context, trail) => {
    const table = tableOf(context, tableName)
    trail.about(table)
    const change = changeOf(given)
    assertOptions<UpdateOptions>(options, VERB, ['tokenization', 'byot'])
    const tokenization = flagOf(options.tokenization, VERB, 'tokenization')
    const mode = byotOf(options.byot, VERB)
    const access = accessTo(context, table, 'UPDATE')
    assertNameable(context, access, { members: [change.fields, change.tokens], action: 'UPDATE' })
    const values = parseFields(table, change.fields, { verb: VERB, index: 0 })
    if (values.every((value) => value === undefined)) {
      throw new VaultError('invalid_request', `${VERB} failed. Name at least one column of table ${table.name} to change.`, {
        table: table.name,
      })
    }
    const brought = [parseTokens(table, change.tokens, { mode, values, place: { verb: VERB, index: 0 } })]
    assertNoPointers(context.barrier.ring, context.layout, table, brought, VERB)
    const written = await changeRecord(context, access, id, { records: [values], brought, verb: VERB, indexes: [0] })
    const wanted = tokenization
      ? markedOf(written, [values], (_, column) => written.before.level(column) !== undefined)
      : undefined
    const [stored] = mintRecords(context.barrier.ring, table, written.ids, wanted)
    return { ...stored, id, updatedAt: toTimestamp(context.clock.now()) }
  })
}

/** What a change names; of anything that is no object, nothing. */
function changeOf(given: unknown): { readonly fields: unknown; readonly tokens: unknown } {
  const change = typeof given === 'object' && given !== null ? given : {}
  return { fields: Reflect.get(change, 'fields'), tokens: Reflect.get(change, 'tokens') }
}

/** Writes over the record as it stands, beginning again when others changed it meanwhile. One beyond his reach is not there. */
async function changeRecord(
  context: OperationContext,
  access: TableAccess,
  id: string,
  writing: Writing,
): Promise<Written & { readonly before: RowAccess }> {
  const { table } = access
  const [position] = readIds(context.barrier.ring, table, [id])
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const [row] = position === undefined ? [] : await context.unit.storage.get(table.physical.name, [position])
    const changes = row === undefined ? [] : [{ row, values: writing.records[0] ?? [], index: 0 }]
    if (row === undefined || beyondReach(context, access, changes).length > 0) throw recordsNotFound(table, VERB, [id], [0])
    const [before = access.forRow([])] = judgeRows(context, access, [row])
    const written = await storeChanges(context, table, [row], writing)
    if (written !== undefined) return { ...written, before }
  }
  throw new VaultError('aborted', `${VERB} failed. The record of table ${table.name} is being changed too often. Try again.`, {
    table: table.name,
  })
}
