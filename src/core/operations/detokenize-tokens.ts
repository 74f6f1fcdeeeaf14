/** Tokens back to values, as text, each at the level asked for or the highest the caller may see. */
import type { OpenRows } from '../barrier/reveal.ts'
import { openRows, showText } from '../barrier/reveal.ts'
import type { Stamps } from '../barrier/stamps.ts'
import { createStamps } from '../barrier/stamps.ts'
import { VaultError } from '../errors.ts'
import { LONGEST_TOKEN, MOST_NAMED_IN_ERROR } from '../limits.ts'
import { columnViews } from '../policy/column-views.ts'
import { assertAllowed } from '../policy/decide.ts'
import type { AskedLevel } from '../redaction/levels.ts'
import { isAskedLevel } from '../redaction/levels.ts'
import type { Column, Table } from '../schema/layout.ts'
import { readPointer } from '../sealing/pointer.ts'
import type { ColumnTypeName } from '../values/column-type.ts'
import type { OperationContext } from './context.ts'
import { assertList, assertOptions, flagOf } from './context.ts'

const VERB = 'Detokenize'

/** One token to resolve. */
export interface DetokenizeParameter {
  readonly token: string
  readonly redaction?: AskedLevel
}

/** Options of detokenize. */
export interface DetokenizeOptions {
  /** Answer what can be answered and mark the rest. Default false: one bad token fails all. */
  readonly continueOnError?: boolean
}

/** What one token stands for. `value` is text for every type; a token that stands for nothing has valueType NONE and an error. */
export interface DetokenizedRecord {
  readonly token: string
  readonly valueType: ColumnTypeName | 'NONE'
  readonly value: string
  readonly error?: string
}

/** A token that may stand for something: where its pointer points, and the stamp it must find there. */
interface Lead {
  readonly place: number
  readonly row: number
  readonly column: Column
  readonly checkHigh: number
  readonly checkLow: number
  readonly asked: AskedLevel
}

/** What following one lead came to: a value, an error of its own, or nothing. */
type Found = { readonly valueType: ColumnTypeName; readonly value: string } | VaultError | undefined

/** Resolves tokens in the order asked. Unknown, malformed, foreign and dead tokens answer alike: `not_found`, naming positions. */
export async function detokenizeTokens(
  context: OperationContext,
  parameters: readonly DetokenizeParameter[],
  options: DetokenizeOptions,
): Promise<{ records: DetokenizedRecord[] }> {
  assertOptions<DetokenizeOptions>(options, VERB, ['continueOnError'])
  const continueOnError = flagOf(options.continueOnError, VERB, 'continueOnError')
  assertList(context, parameters, VERB, 'tokens')
  parameters.forEach(assertParameter)
  assertAllowed(context.caller, 'DETOKENIZATION', undefined)
  const found: Found[] = new Array(parameters.length).fill(undefined)
  for (const [table, leads] of leadsByTable(context, parameters)) {
    const followed = await follow(context, table, leads)
    for (const [k, lead] of leads.entries()) found[lead.place] = followed[k]
  }
  const broken = found.find((one) => one instanceof VaultError)
  if (broken !== undefined && !continueOnError) throw broken
  const missing = found.flatMap((one, index) => (one === undefined ? [index] : []))
  if (missing.length > 0 && (!continueOnError || missing.length === found.length)) throw tokensNotFound(missing)
  return { records: found.map((one, index) => toRecord(parameters[index]?.token ?? '', one)) }
}

function toRecord(token: string, found: Found): DetokenizedRecord {
  if (found === undefined) return { token, valueType: 'NONE', value: '', error: 'Token Not Found' }
  if (found instanceof VaultError) return { token, valueType: 'NONE', value: '', error: found.message }
  return { token, ...found }
}

function assertParameter(parameter: unknown, index: number): void {
  const given = typeof parameter === 'object' && parameter !== null ? parameter : {}
  const token: unknown = 'token' in given ? given.token : undefined
  const redaction: unknown = 'redaction' in given ? given.redaction : undefined
  if (typeof token !== 'string')
    throw new VaultError('invalid_request', `${VERB} failed. Item ${index} needs a token, as text.`, { index })
  if (token.length > LONGEST_TOKEN * 2) {
    throw new VaultError('invalid_request', `${VERB} failed. The token of item ${index} is longer than any token is.`, {
      index,
      grpcCode: 8,
    })
  }
  if (redaction !== undefined && !isAskedLevel(redaction)) {
    throw new VaultError(
      'invalid_request',
      `${VERB} failed. redaction of item ${index} must be DEFAULT, REDACTED, MASKED or PLAIN_TEXT.`,
      { index },
    )
  }
}

/** Undisguises all tokens in one go and sorts what they point at by table. */
function leadsByTable(context: OperationContext, parameters: readonly DetokenizeParameter[]): Map<Table, Lead[]> {
  const { words, wellFormed } = context.barrier.ring.undisguise(parameters.map((parameter) => parameter.token))
  const byTable = new Map<Table, Lead[]>()
  parameters.forEach(({ redaction }, place) => {
    if (wellFormed[place] !== 1) return
    const { space, row, checkHigh, checkLow } = readPointer(words, place)
    const home = context.layout.tokenSpaces.get(space)
    if (home === undefined) return
    const lead = { place, row, column: home.column, checkHigh, checkLow, asked: redaction ?? 'DEFAULT' }
    const leads = byTable.get(home.table)
    if (leads === undefined) byTable.set(home.table, [lead])
    else leads.push(lead)
  })
  return byTable
}

/** Reads the rows the leads point at and answers what still stands there, lead by lead. */
async function follow(context: OperationContext, table: Table, leads: readonly Lead[]): Promise<Found[]> {
  const rows = await context.storage.get(
    table.physical.name,
    leads.map((lead) => lead.row),
  )
  const live = rows.filter((row) => row !== undefined)
  const cursor = openRows(context.barrier, table, live)
  const stamps = createStamps(table, 1)
  let next = 0
  return leads.map((lead, index) => {
    if (rows[index] === undefined) return undefined
    try {
      cursor.to(next++)
    } catch (error) {
      if (error instanceof VaultError) return error
      throw error
    }
    if (!isStampOf(cursor, stamps, lead)) return undefined
    const [view] = columnViews(context.caller, [lead.column], lead.asked)
    return view === undefined ? undefined : { valueType: lead.column.type.name, value: showText(view, cursor.value(lead.column)) }
  })
}

/** True when the cell still holds the stamp that the token was made with. */
function isStampOf(cursor: OpenRows, stamps: Stamps, { column, checkHigh, checkLow }: Lead): boolean {
  const slot = column.tokenPosition
  stamps.has[slot] = 0
  cursor.stamp(column, stamps, slot)
  return stamps.has[slot] === 1 && stamps.high[slot] === checkHigh && stamps.low[slot] === checkLow
}

function tokensNotFound(bad: readonly number[]): VaultError {
  const indexes = bad.slice(0, MOST_NAMED_IN_ERROR)
  const sentence = bad.length === 1 ? 'A token stands' : `${bad.length} tokens stand`
  return new VaultError(
    'not_found',
    `${VERB} failed. ${sentence} for nothing, at position ${indexes.join(', ')}. Check them, or ask to continue on errors.`,
    { indexes },
  )
}
