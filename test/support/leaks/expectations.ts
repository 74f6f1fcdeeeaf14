/** Compares results with the oracle, cell by cell: they must hold no more and no less. */
import { isDeepStrictEqual } from 'node:util'
import type { Redaction, RedactionLevel } from '../../../src/core/redaction.ts'
import type { LeakRequest } from './known-values.ts'
import { type Model, type ModelRow, spelt } from './model.ts'
import { answeredLevel, type Oracle } from './oracle.ts'
import { type LeakColumn, tokenKindOf } from './schemas.ts'
import { shown, shownText } from './shown-value.ts'

/** The members of a record that are compared. */
interface Answered {
  readonly id?: string
  readonly token?: string
  readonly value?: string
  readonly valueType?: string
  readonly table?: string
  readonly column?: string
  readonly error?: string
  readonly fields?: Readonly<Record<string, unknown>>
  readonly levels?: unknown
  readonly level?: unknown
}

/** One sentence for each record of a result that differs from the oracle; an empty list if none does. */
export function faultsOf(request: LeakRequest, answer: unknown, expected: Expected): string[] {
  const { model, oracle, isInProcess = true } = expected
  const records = recordsOf(answer)
  const options = request.args[request.method === 'getOne' ? 2 : 1]
  const asked = levelIn(options)
  const refuses = memberOf(options, 'onLowered') === 'throw'
  if (request.method === 'detokenize')
    return records.flatMap((record, index) => [
      ...faultOfItem(request, record, index, expected),
      ...(refuses ? refusalFault(record, index) : []),
    ])
  if (request.method !== 'get' && request.method !== 'getOne' && request.method !== 'getByTokens') return []
  const isTokenView = memberOf(options, 'tokenization') === true
  const named = memberOf(options, 'fields')
  return records.flatMap((record) => {
    if (record.error !== undefined) return []
    const row = model.rows.find(({ id }) => id === record.id)
    if (row === undefined) return [`record ${record.id ?? 'without id'} does not exist`]
    const columns = row.table.columns.filter(({ name }) => !Array.isArray(named) || named.includes(name))
    return isTokenView
      ? faultsOfTokens(record, row, oracle)
      : faultsOfFields(record, row, { columns, asked, refuses, isInProcess, oracle })
  })
}

/** What determines the expected result. */
export interface Expected {
  readonly model: Model
  readonly oracle: Oracle
  /** Whether results have what HTTP leaves out. Default true. */
  readonly isInProcess?: boolean
}

function recordsOf(answer: unknown): readonly Answered[] {
  const records = memberOf(answer, 'records')
  return (Array.isArray(records) ? records : [answer]) as readonly Answered[] // Every member is compared, whatever it is.
}

function memberOf(part: unknown, name: string): unknown {
  return typeof part === 'object' && part !== null ? Reflect.get(part, name) : undefined
}

function levelIn(options: unknown): Redaction {
  // The vault accepted it, so it is one; over HTTP an empty text asks for nothing.
  return (memberOf(options, 'redaction') as Redaction | undefined) || 'DEFAULT'
}

interface Expecting {
  readonly columns: readonly LeakColumn[]
  readonly asked: Redaction
  /** Whether a result with lowered fields must be refused. */
  readonly refuses: boolean
  readonly isInProcess: boolean
  readonly oracle: Oracle
}

function faultsOfFields(
  { fields, levels }: Answered,
  row: ModelRow,
  { columns, asked, refuses, isInProcess, oracle }: Expecting,
): string[] {
  const { table } = row
  if (!table.columns.some((column) => oracle.may('READ', table, column, row.asked)))
    return [`row ${row.id} is invisible to the caller`]
  const expected = columns.flatMap((column) => {
    const allowed = oracle.level(table, column, row.asked)
    if (allowed === undefined || tokenKindOf(column) === 'transient') return []
    const level = answeredLevel(column, asked, allowed)
    return [{ name: column.name, value: shown(column, row.values[column.name], level), level }]
  })
  const values = Object.fromEntries(expected.map(({ name, value }) => [name, value]))
  const notPlain = Object.fromEntries(expected.flatMap(({ name, level }) => (level === 'PLAIN_TEXT' ? [] : [[name, level]])))
  return [
    ...(isDeepStrictEqual({ ...fields }, values)
      ? []
      : [`fields of ${table.name} are ${spelt(fields)} and should be ${spelt(values)}`]),
    ...(!isInProcess || isDeepStrictEqual(levels, notPlain)
      ? []
      : [`levels of ${table.name} are ${spelt(levels)} and should be ${spelt(notPlain)}`]),
    ...(refuses && Object.keys(notPlain).length > 0
      ? [`${spelt(notPlain)} of ${table.name} are lowered, and the read is not refused`]
      : []),
  ]
}

function faultsOfTokens({ fields }: Answered, row: ModelRow, oracle: Oracle): string[] {
  const shownNames = Object.keys(fields ?? {})
  const hidden = shownNames.filter((name) => {
    const column = row.table.columns.find((one) => one.name === name)
    return column === undefined || oracle.level(row.table, column, row.asked) === undefined
  })
  return hidden.map((name) => `the token of hidden column ${row.table.name}.${name} is shown`)
}

/** An item of detokenize must equal that of one of the cells of its token, at the level of that cell. */
function faultOfItem(
  request: LeakRequest,
  answered: Answered,
  index: number,
  { model, oracle, isInProcess = true }: Expected,
): string[] {
  const { token = '', ...item } = answered
  const homes = model.homes.get(token) ?? []
  const isApart = homes.length === 0 || homes.some(({ column }) => tokenKindOf(column) === 'transient')
  if (item.valueType === 'NONE' || isApart) return []
  const asked = levelIn(memberOf(request.args[0], String(index)))
  const allowed = homes.flatMap(({ row, column }) => {
    const level = oracle.level(row.table, column, row.asked)
    if (level === undefined || !oracle.may('DETOKENIZATION', row.table, column, row.asked)) return []
    const { level: shownLevel, ...shownHere } = itemOf(column, row.values[column.name], answeredLevel(column, asked, level))
    const place = { table: row.table.name, column: column.name, ...(shownLevel === undefined ? {} : { level: shownLevel }) }
    return [isInProcess ? { ...shownHere, ...place } : shownHere]
  })
  if (allowed.some((one) => isDeepStrictEqual(one, item))) return []
  return [`token ${index} is shown as ${spelt(item)} and may only be ${allowed.map(spelt).join(' or ')}`]
}

/** A cell as detokenize returns it, without the token. */
function itemOf(column: LeakColumn, value: unknown, level: RedactionLevel): Answered {
  const shownHere = { valueType: column.definition.type, value: shownText(column, value, level) }
  return level === 'PLAIN_TEXT' ? shownHere : { ...shownHere, level }
}

function refusalFault({ level }: Answered, index: number): string[] {
  return level === undefined ? [] : [`token ${index} is lowered, and the call is not refused`]
}
