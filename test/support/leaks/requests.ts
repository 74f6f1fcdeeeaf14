/** Random requests of one caller, good and bad, over every verb, for the laws of secrecy. */
import type { Action } from '../../../src/core/policy/actions.ts'
import { ACTIONS } from '../../../src/core/policy/actions.ts'
import type { Luck } from '../random/draws.ts'
import { below, chance, pick, some } from '../random/draws.ts'
import { spoil } from './invalid-input.ts'
import type { Knowledge, LeakRequest } from './known-values.ts'
import { columnsFor, tableFor, textOf, valueFor } from './known-values.ts'
import { randomQuery } from './queries.ts'
import type { LeakColumn, LeakTable } from './schemas.ts'
import { tokenKindOf } from './schemas.ts'

const UNKNOWN_ID = '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11'
const LEVELS = ['DEFAULT', 'PLAIN_TEXT', 'PLAIN_TEXT', 'MASKED', 'REDACTED'] as const

type Maker = (luck: Luck, known: Knowledge) => LeakRequest

/** Makers by method, each with what the caller needs for it; the more often one stands here the likelier it is. */
const MAKERS: readonly (readonly [maker: Maker, need: Action | undefined])[] = [
  [insert, 'CREATE'],
  [insert, 'CREATE'],
  [upsert, 'CREATE'],
  [update, 'UPDATE'],
  [update, 'UPDATE'],
  [getByIds, 'READ'],
  [getByIds, 'READ'],
  [lookUp, 'READ'],
  [lookUp, 'READ'],
  [lookUp, 'SEARCH'],
  [getPage, 'READ'],
  [getPage, 'READ'],
  [tokenView, 'READ'],
  [getOne, 'READ'],
  [remove, 'DELETE'],
  [detokenize, 'DETOKENIZATION'],
  [detokenize, 'DETOKENIZATION'],
  [detokenize, 'DETOKENIZATION'],
  [tokenize, 'TOKENIZATION'],
  [tokenize, 'TOKENIZATION'],
  [getByTokens, 'DETOKENIZATION'],
  [getByTokens, 'DETOKENIZATION'],
  [listEvents, undefined],
  [explain, undefined],
  [randomQuery, 'READ'],
  [randomQuery, 'READ'],
  [randomQuery, 'READ'],
]

/** One request; about one in seven is spoilt. */
export function randomRequest(luck: Luck, known: Knowledge): LeakRequest {
  const [maker] = pick(
    luck,
    MAKERS.filter(([, need]) => need === undefined || couldAnywhere(known, need) || chance(luck, 0.1)),
  )
  const request = maker(luck, known)
  return chance(luck, 0.15) ? spoil(luck, request, known.fresh('STRING')) : request
}

function couldAnywhere({ tables, oracle }: Knowledge, action: Action): boolean {
  return tables.some((table) => table.columns.some((column) => oracle.couldEver(action, table, column)))
}

function recordFor(luck: Luck, known: Knowledge, table: LeakTable, columns: readonly LeakColumn[]): Record<string, unknown> {
  return Object.fromEntries(columns.map((column) => [column.name, valueFor(luck, known, table, column)]))
}

function insert(luck: Luck, known: Knowledge): LeakRequest {
  const table = tableFor(luck, known, 'CREATE')
  const columns = columnsFor(luck, known, table, 'CREATE')
  const named = chance(luck, 0.6) ? columns : some(luck, columns, 1 + below(luck, columns.length))
  const records = Array.from({ length: 1 + below(luck, 3) }, () => ({ fields: recordFor(luck, known, table, named) }))
  const options = { tokenization: chance(luck, 0.7), ...(chance(luck, 0.2) ? { homogeneous: true } : {}) }
  if (!chance(luck, 0.15)) return { method: 'insert', args: [table.name, records, options] }
  const brought = records.map((record) => ({ ...record, tokens: broughtTokens(luck, known, named) }))
  return {
    method: 'insert',
    args: [table.name, brought, { ...options, byot: pick(luck, ['ENABLE', 'ENABLE_STRICT', 'DISABLE']) }],
  }
}

function broughtTokens(luck: Luck, known: Knowledge, columns: readonly LeakColumn[]): Record<string, unknown> {
  const tokenized = columns.filter((column) => tokenKindOf(column) !== undefined)
  const token = () => (chance(luck, 0.3) && known.tokens().length > 0 ? pick(luck, known.tokens()) : `tok ${below(luck, 1e9)}`)
  return Object.fromEntries(tokenized.map((column) => [column.name, token()]))
}

function upsert(luck: Luck, known: Knowledge): LeakRequest {
  const table = tableFor(luck, known, 'CREATE')
  const columns = columnsFor(luck, known, table, 'CREATE')
  const unique = table.columns.filter((column) => column.definition.unique === true)
  const key = pick(luck, unique.length > 0 && chance(luck, 0.9) ? unique : table.columns)
  const named = [key, ...some(luck, columns, below(luck, columns.length)).filter((column) => column !== key)]
  const records = Array.from({ length: 1 + below(luck, 2) }, () => ({ fields: recordFor(luck, known, table, named) }))
  return { method: 'insert', args: [table.name, records, { upsert: key.name, tokenization: chance(luck, 0.5) }] }
}

function update(luck: Luck, known: Knowledge): LeakRequest {
  const table = tableFor(luck, known, 'UPDATE')
  const columns = columnsFor(luck, known, table, 'UPDATE')
  const fields = recordFor(luck, known, table, some(luck, columns, 1 + below(luck, Math.min(3, columns.length))))
  return { method: 'update', args: [table.name, idFor(luck, known, table), { fields }, { tokenization: chance(luck, 0.5) }] }
}

function idFor(luck: Luck, known: Knowledge, table: LeakTable): string {
  const ids = known.idsOf(chance(luck, 0.95) ? table : pick(luck, known.tables))
  return ids.length > 0 && chance(luck, 0.95) ? pick(luck, ids) : UNKNOWN_ID
}

/** How records are to be shown. */
function showing(luck: Luck, known: Knowledge, table: LeakTable): Record<string, unknown> {
  const columns = columnsFor(luck, known, table, 'READ')
  const fields = some(luck, columns, 1 + below(luck, columns.length)).map(({ name }) => name)
  return {
    ...(chance(luck, 0.8) ? { redaction: pick(luck, LEVELS) } : {}),
    ...(chance(luck, 0.3) ? { fields } : {}),
  }
}

function getByIds(luck: Luck, known: Knowledge): LeakRequest {
  const table = tableFor(luck, known, 'READ')
  const ids = Array.from({ length: 1 + below(luck, 2) }, () => idFor(luck, known, table))
  return { method: 'get', args: [table.name, { ids, ...showing(luck, known, table) }] }
}

function lookUp(luck: Luck, known: Knowledge): LeakRequest {
  const table = tableFor(luck, known, 'READ')
  const found = table.columns.filter(({ definition }) => definition.unique || definition.searchable || definition.index)
  const column = pick(luck, found.length > 0 && chance(luck, 0.9) ? found : table.columns)
  const values = Array.from({ length: 1 + below(luck, 2) }, () => valueFor(luck, known, table, column))
  return { method: 'get', args: [table.name, { columnName: column.name, columnValues: values, ...showing(luck, known, table) }] }
}

function getPage(luck: Luck, known: Knowledge): LeakRequest {
  const table = tableFor(luck, known, 'READ')
  const page = {
    ...(chance(luck, 0.3) ? { offset: below(luck, 4) } : {}),
    ...(chance(luck, 0.3) ? { limit: 1 + below(luck, 6) } : {}),
    ...(chance(luck, 0.3) ? { orderBy: pick(luck, ['ASCENDING', 'DESCENDING', 'NONE']) } : {}),
  }
  return { method: 'get', args: [table.name, { ...page, ...showing(luck, known, table) }] }
}

function tokenView(luck: Luck, known: Knowledge): LeakRequest {
  const table = tableFor(luck, known, 'READ')
  const which = chance(luck, 0.5) ? { ids: [idFor(luck, known, table)] } : {}
  return { method: 'get', args: [table.name, { ...which, tokenization: true }] }
}

function getOne(luck: Luck, known: Knowledge): LeakRequest {
  const table = tableFor(luck, known, 'READ')
  return { method: 'getOne', args: [table.name, idFor(luck, known, table), showing(luck, known, table)] }
}

function remove(luck: Luck, known: Knowledge): LeakRequest {
  const table = tableFor(luck, known, 'DELETE')
  if (chance(luck, 0.1)) return { method: 'delete', args: [table.name, '*'] }
  const ids = Array.from({ length: 1 + below(luck, 2) }, () => idFor(luck, known, table))
  return chance(luck, 0.5) ? { method: 'deleteOne', args: [table.name, ids[0]] } : { method: 'delete', args: [table.name, ids] }
}

function someTokens(luck: Luck, known: Knowledge): string[] {
  const tokens = known.tokens()
  const drawn = Array.from({ length: 1 + below(luck, 3) }, () =>
    tokens.length > 0 && chance(luck, 0.9) ? pick(luck, tokens) : 'no such token',
  )
  return chance(luck, 0.05) ? [...drawn, String(known.fresh('STRING'))] : drawn
}

function detokenize(luck: Luck, known: Knowledge): LeakRequest {
  const level = () => (chance(luck, 0.8) ? { redaction: pick(luck, LEVELS) } : {})
  const parameters = someTokens(luck, known).map((token) => ({ token, ...level() }))
  return { method: 'detokenize', args: [parameters, { continueOnError: chance(luck, 0.8) }] }
}

function tokenize(luck: Luck, known: Knowledge): LeakRequest {
  const table = tableFor(luck, known, 'TOKENIZATION')
  const deterministic = table.columns.filter((column) => tokenKindOf(column)?.startsWith('deterministic'))
  const column = pick(luck, deterministic.length > 0 && chance(luck, 0.9) ? deterministic : table.columns)
  const guesses = known.guessesFor(table, column)
  const value = textOf(chance(luck, 0.7) && guesses.length > 0 ? pick(luck, guesses) : valueFor(luck, known, table, column))
  const inGroup = column.definition.columnGroup !== undefined && chance(luck, 0.5)
  const place = inGroup ? { columnGroup: 'kin' } : { table: table.name, column: column.name }
  return { method: 'tokenize', args: [[{ value, ...place }]] }
}

function getByTokens(luck: Luck, known: Knowledge): LeakRequest {
  const options = chance(luck, 0.7) ? { redaction: pick(luck, LEVELS) } : {}
  return { method: 'getByTokens', args: [someTokens(luck, known), options] }
}

function listEvents(luck: Luck): LeakRequest {
  return { method: 'listEvents', args: [{ filterOps: { accountID: 'v1' }, limit: 1 + below(luck, 100) }] }
}

function explain(luck: Luck, known: Knowledge): LeakRequest {
  const table = pick(luck, known.tables)
  const row = chance(luck, 0.6) ? { row: recordFor(luck, known, table, some(luck, table.columns, 3)) } : {}
  return { method: 'explain', args: [pick(luck, ACTIONS), table.name, row] }
}
