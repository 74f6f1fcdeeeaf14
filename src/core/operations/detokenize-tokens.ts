/** Detokenize: returns the values of tokens as text, at the lower of the requested and the granted redaction. */

import { showText } from '../barrier/reveal.ts'
import { type ErrorCode, type Fault, fault, VaultError, withoutStack } from '../errors.ts'
import { parseFlag, parseList, parseRedaction, parseTokenText, paths, TOKEN_NOT_FOUND } from '../execution/check-input.ts'
import type { EventBuilder } from '../execution/event-builder.ts'
import type { Operation } from '../execution/operation.ts'
import { bytesOfBody, inSlices } from '../pace/pace.ts'
import { forbidden } from '../policy/create-access.ts'
import { addRowsOf, needsOfTokens, resolveVisible, type VisibleResolution } from '../records/visible-tokens.ts'
import { type LoweredLevel, REDACTIONS, type Redaction } from '../redaction.ts'
import { assertPlainText, ON_LOWERED, type OnLowered, parseOnLowered } from '../row-access/evaluate-access.ts'
import { ALONE } from '../unit-of-work/gather.ts'
import { at, cutList } from '../util/lists.ts'
import { assertItems, assertOptions } from '../util/options.ts'
import type { ValueTypes } from '../values/column-type.ts'

/** One token to resolve. */
export interface DetokenizeParameter {
  readonly token: string
  /** The lower of this and the level granted is returned. Default DEFAULT: the column's own. */
  readonly redaction?: Redaction
}

/** Options of detokenize. */
export interface DetokenizeOptions {
  /** Return the tokens that can be resolved, and an error for each other one. Default false: one bad token fails the request. */
  readonly continueOnError?: boolean
  /** `throw`: throw `forbidden` rather than return a masked or redacted value, also with `continueOnError`. */
  readonly onLowered?: OnLowered
}

/**
 * The value of one token, as text for every type; of JSON and ARRAY as JSON text, in which a text has quotes. A token that was not found has
 * valueType NONE and an error.
 */
export interface DetokenizedRecord {
  readonly token: string
  readonly valueType: keyof ValueTypes | 'NONE'
  readonly value: string
  /** The column of the token, and its table; absent with an error. */
  readonly table?: string
  readonly column?: string
  /** The level of the value, if it is masked or redacted. */
  readonly level?: LoweredLevel
  readonly error?: string
  /** The code of the error: `not_found`, or `data_loss` for a record that failed authentication. */
  readonly code?: ErrorCode
}

/** Input of detokenize. */
export interface DetokenizeInput {
  readonly records: readonly DetokenizeParameter[]
  readonly options?: DetokenizeOptions
}

/** A parsed parameter. A class, as the candidates of tokens are. */
class ParsedParameter implements DetokenizeParameter {
  readonly token: string
  readonly redaction: Redaction

  constructor(token: string, redaction: Redaction) {
    this.token = token
    this.redaction = redaction
  }
}

/** A parsed request, before grants are checked. */
export interface DetokenizeRequest {
  readonly parameters: readonly Required<DetokenizeParameter>[]
  readonly continueOnError: boolean
  readonly refusesLowered: boolean
}

/** Returns one record for each token, in order. Throws the same `not_found` with positions for unknown, malformed, foreign, replaced and expired tokens. */
export const detokenize: Operation<DetokenizeInput, DetokenizeRequest, { records: DetokenizedRecord[] }> = {
  action: 'DETOKENIZE',
  resourceType: 'TOKEN',
  verb: 'Detokenize',
  members: ['records', 'options'],
  recorded: {
    records: { token: 'value', redaction: REDACTIONS },
    continueOnError: 'flag',
    onLowered: ON_LOWERED,
  },
  parse({ records, options = {} }, context) {
    assertOptions<DetokenizeOptions>(options, ['continueOnError', 'onLowered'])
    const continueOnError = parseFlag(options.continueOnError, 'continueOnError')
    const list = parseList(context, records, 'tokens')
    assertItems(list, ['token', 'redaction'], 'tokens')
    const parameters = list.map(parseParameter)
    const { onLowered } = options
    const refusals = onLowered === undefined ? [] : parameters.map(({ redaction }) => parseOnLowered(onLowered, redaction))
    return { continueOnError, refusesLowered: refusals.includes(true), parameters }
  },
  async execute(context, { parameters, continueOnError, refusesLowered }) {
    if (!context.access.possiblyAllowsAnywhere('DETOKENIZATION')) throw forbidden(context.caller, 'DETOKENIZATION')
    const texts = parameters.map(({ token }) => token)
    const found = await resolveVisible(context.unit.storage, context, { texts, needsOf })
    if (refusesLowered) for (const [index, one] of found.entries()) assertShownInPlainText(at(parameters, index), one)
    addRowsOf(found, context.event)
    const failed = found.find((one) => one instanceof VaultError)
    if (failed !== undefined && !continueOnError) throw failed
    const list = { count: found.length, bytesAt: (index: number) => bytesToSpell(found[index]) }
    const records = await inSlices(list, context.scheduler, (start, end) =>
      found.slice(start, end).map((one, index) => toRecord(at(parameters, start + index), one)),
    )
    const missing: number[] = []
    for (let index = 0; index < records.length; index++) if (records[index]?.error === TOKEN_NOT_FOUND) missing.push(index)
    if (missing.length > 0 && (!continueOnError || missing.length === found.length))
      throw tokensNotFound(missing, continueOnError)
    addLevelsOf(records, context.event)
    return { records }
  },
  asOne: {
    keys: {
      turn: ({ parameters, refusesLowered }) =>
        refusesLowered || parameters.length > MAX_TOKENS_TO_JOIN ? undefined : 'detokenize',
    },
    async execute(context, requests, events) {
      if (!context.access.possiblyAllowsAnywhere('DETOKENIZATION')) return requests.map(() => ALONE)
      const texts = requests.flatMap(({ parameters }) => parameters.map(({ token }) => token))
      const found = await resolveVisible(context.unit.storage, context, { texts, needsOf })
      const lengths = requests.map(({ parameters }) => parameters.length)
      return cutList(found, lengths).map((own, index) => {
        const { parameters } = at(requests, index)
        // The errors of tokens have positions, so a request with one of them runs by itself.
        if (own.some((one) => one === undefined || one instanceof VaultError)) return ALONE
        addRowsOf(own, at(events, index))
        const records = own.map((one, position) => toRecord(at(parameters, position), one))
        addLevelsOf(records, at(events, index))
        return { records }
      })
    },
  },
}

/** Adds the levels of the values that are shown to an event. */
function addLevelsOf(records: readonly DetokenizedRecord[], event: Pick<EventBuilder, 'addViews'>): void {
  for (const { valueType, level = 'PLAIN_TEXT' } of records) if (valueType !== 'NONE') event.addViews([{ level }])
}

/** Maximum number of tokens of a request that is joined with others. */
const MAX_TOKENS_TO_JOIN = 16

/** Detokenizing shows the value, so READ is required too. */
const needsOf = needsOfTokens([
  { action: 'DETOKENIZATION', on: 'column' },
  { action: 'READ', on: 'column' },
])

/** Estimated bytes of which the text of a value is made; 0 for one that is a text. */
function bytesToSpell(found: VisibleResolution): number {
  if (found === undefined || found instanceof VaultError || typeof found.value === 'string') return 0
  return bytesOfBody(found.row)
}

function assertShownInPlainText({ redaction }: Required<DetokenizeParameter>, found: VisibleResolution): void {
  if (found === undefined || found instanceof VaultError) return
  const { table, column, access } = found
  const view = access.view(column, redaction)
  assertPlainText({ table, views: view === undefined ? [] : [[view]], named: undefined })
}

function toRecord({ token, redaction }: Required<DetokenizeParameter>, found: VisibleResolution): DetokenizedRecord {
  if (found instanceof VaultError) return { token, valueType: 'NONE', value: '', error: found.message, code: found.code }
  const view = found?.access.view(found.column, redaction)
  if (found === undefined || view === undefined)
    return { token, valueType: 'NONE', value: '', error: TOKEN_NOT_FOUND, code: 'not_found' }
  const { table, column, value } = found
  const shown = { token, valueType: column.type.name, value: showText(view, value), table: table.name, column: column.name }
  return view.level === 'PLAIN_TEXT' ? shown : { ...shown, level: view.level }
}

function parseParameter(parameter: unknown, index: number): Required<DetokenizeParameter> {
  const given = typeof parameter === 'object' && parameter !== null ? parameter : {}
  const token = parseTokenText('token' in given ? given.token : undefined, index)
  return new ParsedParameter(token, parseRedaction('redaction' in given ? given.redaction : undefined, index))
}

/** With `continueOnError` it is thrown if all tokens are not found. */
function tokensNotFound(indexes: readonly number[], continueOnError: boolean): Fault {
  const details = indexes.map((index) => ({ index }))
  const where = paths('tokens', indexes)
  return withoutStack(() => {
    if (continueOnError) return fault('not_found', details)`No token was found: ${where}. Specify valid tokens.`
    return indexes.length === 1
      ? fault('not_found', details)`A token was not found: ${where}. Remove it, or set continueOnError.`
      : fault('not_found', details)`${indexes.length} tokens were not found: ${where}. Remove them, or set continueOnError.`
  })
}
