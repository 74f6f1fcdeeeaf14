/** Tokens back to values, as text, each at the level asked for or the highest the caller may see. */
import { showText } from '../barrier/reveal.ts'
import { VaultError } from '../errors.ts'
import { MOST_NAMED_IN_ERROR } from '../limits.ts'
import { forbidden } from '../policy/refuse-access.ts'
import type { Need } from '../policy/table-access.ts'
import type { AskedLevel } from '../redaction/levels.ts'
import { ASKED_LEVELS, isAskedLevel } from '../redaction/levels.ts'
import type { Column } from '../schema/layout.ts'
import type { Granted } from '../records/visible-tokens.ts'
import { resolveGranted, rowsByTable } from '../records/visible-tokens.ts'
import type { ColumnTypeName } from '../values/column-type.ts'
import { assertOptions, flagOf, listOf, tokenTextOf } from '../execution/context.ts'
import type { Operation } from '../execution/operation.ts'

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

/** Tokens, and how to go about them. */
export interface DetokenizeInput {
  readonly records: readonly DetokenizeParameter[]
  readonly options?: DetokenizeOptions
}

interface Request {
  readonly given: readonly DetokenizeParameter[]
  readonly continueOnError: boolean
}

/** Resolves tokens in the order asked. Unknown, malformed, foreign, dead and expired tokens answer alike: `not_found`, naming positions. */
export const detokenize: Operation<DetokenizeInput, Request, { records: DetokenizedRecord[] }> = {
  action: 'DETOKENIZE',
  resourceType: 'TOKEN',
  verb: VERB,
  told: { records: { token: 'value', redaction: ASKED_LEVELS }, continueOnError: 'flag' },
  parse({ records, options = {} }, context) {
    assertOptions<DetokenizeOptions>(options, VERB, ['continueOnError'])
    const continueOnError = flagOf(options.continueOnError, VERB, 'continueOnError')
    return { continueOnError, given: listOf(context, records, VERB, 'tokens').map(parseParameter) }
  },
  async execute(context, { given, continueOnError }) {
    if (!context.access.couldAnywhere('DETOKENIZATION')) throw forbidden(context.caller, 'DETOKENIZATION')
    const texts = given.map(({ token }) => token)
    const found = await resolveGranted(context, texts, needsOf)
    for (const [table, rows] of rowsByTable(found)) context.story.touches(table, rows)
    const broken = found.find((one) => one instanceof VaultError)
    if (broken !== undefined && !continueOnError) throw broken
    const records = found.map((one, index) => toRecord(given[index] ?? { token: '' }, one))
    const missing = records.flatMap((record, index) => (record.error === NOT_FOUND ? [index] : []))
    if (missing.length > 0 && (!continueOnError || missing.length === found.length)) throw tokensNotFound(missing)
    return { records }
  },
}

/** Detokenizing shows the value, so both must be granted. */
function needsOf(column: Column): Need[] {
  return [
    { action: 'DETOKENIZATION', columns: [column] },
    { action: 'READ', columns: [column] },
  ]
}

/** What a token that stands for nothing is answered with. Existing clients read exactly this. */
const NOT_FOUND = 'Token Not Found'

function toRecord({ token, redaction }: DetokenizeParameter, found: Granted): DetokenizedRecord {
  if (found instanceof VaultError) return { token, valueType: 'NONE', value: '', error: found.message }
  const [view] = found === undefined ? [] : found.access.views([found.column], redaction ?? 'DEFAULT')
  if (found === undefined || view === undefined) return { token, valueType: 'NONE', value: '', error: NOT_FOUND }
  return { token, valueType: found.column.type.name, value: showText(view, found.value) }
}

function parseParameter(parameter: unknown, index: number): DetokenizeParameter {
  const given = typeof parameter === 'object' && parameter !== null ? parameter : {}
  const token = tokenTextOf('token' in given ? given.token : undefined, VERB, index)
  const redaction: unknown = 'redaction' in given ? given.redaction : undefined
  if (redaction === undefined) return { token }
  if (isAskedLevel(redaction)) return { token, redaction }
  throw new VaultError(
    'invalid_request',
    `${VERB} failed. redaction of item ${index} must be DEFAULT, REDACTED, MASKED or PLAIN_TEXT.`,
    { index },
  )
}

function tokensNotFound(bad: readonly number[]): VaultError {
  const indexes = bad.slice(0, MOST_NAMED_IN_ERROR)
  const sentence = bad.length === 1 ? 'A token stands' : `${bad.length} tokens stand`
  return new VaultError(
    'not_found',
    `${VERB} failed. ${sentence} for nothing, at position ${indexes.join(', ')}. Check them, or ask to continue on errors.`,
    indexes.map((index) => ({ index })),
  )
}
