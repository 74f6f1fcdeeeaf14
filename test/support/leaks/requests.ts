/** Random requests of one caller, valid and invalid, for every operation. */
import { ACTIONS, type Action } from '../../../src/core/policy/statement.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import { makeInvalid } from './invalid-input.ts'
import { columnsFor, type KnownValues, type LeakRequest, type ReadPage, tableFor, valueFor } from './known-values.ts'
import { randomQuery } from './queries.ts'
import { type LeakColumn, type LeakTable, tokenKindOf } from './schemas.ts'

const UNKNOWN_ID = '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11'
const LEVELS = ['DEFAULT', 'PLAIN_TEXT', 'PLAIN_TEXT', 'MASKED', 'REDACTED'] as const

type Maker = (random: SeededRandom, known: KnownValues) => LeakRequest

/** Request makers, each with the grant that it needs. A maker that is listed twice is twice as likely. */
const MAKERS: readonly (readonly [maker: Maker, need: Action | undefined])[] = [
  [insert, 'CREATE'],
  [insert, 'CREATE'],
  [upsert, 'CREATE'],
  [insertUntaken, 'CREATE'],
  [update, 'UPDATE'],
  [update, 'UPDATE'],
  [updateOne, 'UPDATE'],
  [updateWhere, 'UPDATE'],
  [getByIds, 'READ'],
  [getByIds, 'READ'],
  [lookUp, 'READ'],
  [lookUp, 'READ'],
  [lookUp, 'SEARCH'],
  [getPage, 'READ'],
  [getPage, 'READ'],
  [getByValue, 'READ'],
  [getByValue, 'READ'],
  [tokenView, 'READ'],
  [getOne, 'READ'],
  [remove, 'DELETE'],
  [deleteWhere, 'DELETE'],
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
  [batch, undefined],
  [batch, undefined],
]

/** One request; about one in seven is invalid. */
export function randomRequest(random: SeededRandom, known: KnownValues): LeakRequest {
  const request = validRequest(random, known)
  return random.chance(0.15) ? makeInvalid(random, request, known.fresh('STRING')) : request
}

/** One request with the members and types that its operation has. */
export function validRequest(random: SeededRandom, known: KnownValues): LeakRequest {
  const [maker] = random.pick(MAKERS.filter(([, need]) => need === undefined || couldAnywhere(known, need) || random.chance(0.1)))
  return maker(random, known)
}

function couldAnywhere({ tables, oracle }: KnownValues, action: Action): boolean {
  return tables.some((table) => table.columns.some((column) => oracle.couldEver(action, table, column)))
}

function recordFor(
  random: SeededRandom,
  known: KnownValues,
  table: LeakTable,
  columns: readonly LeakColumn[],
): Record<string, unknown> {
  return Object.fromEntries(columns.map((column) => [column.name, valueFor(random, known, table, column)]))
}

function insert(random: SeededRandom, known: KnownValues): LeakRequest {
  const table = tableFor(random, known, 'CREATE')
  const columns = columnsFor(random, known, table, 'CREATE')
  const named = random.chance(0.6) ? columns : random.sample(columns, 1 + random.below(columns.length))
  const records = Array.from({ length: 1 + random.below(3) }, () => ({ fields: recordFor(random, known, table, named) }))
  const options = { tokenization: random.chance(0.7), ...(random.chance(0.2) ? { homogeneous: true } : {}) }
  if (!random.chance(0.15)) return { method: 'insert', args: [table.name, records, options] }
  const supplied = records.map((record) => ({ ...record, tokens: suppliedTokens(random, known, named) }))
  return {
    method: 'insert',
    args: [table.name, supplied, { ...options, byot: random.pick(['ENABLE', 'ENABLE_STRICT', 'DISABLE']) }],
  }
}

function suppliedTokens(random: SeededRandom, known: KnownValues, columns: readonly LeakColumn[]): Record<string, unknown> {
  const tokenized = columns.filter((column) => tokenKindOf(column) !== undefined)
  const candidates = known.suppliableTokens()
  const token = () => (random.chance(0.3) && candidates.length > 0 ? random.pick(candidates) : `tok ${random.below(1e9)}`)
  return Object.fromEntries(tokenized.map((column) => [column.name, token()]))
}

function upsert(random: SeededRandom, known: KnownValues): LeakRequest {
  const table = tableFor(random, known, 'CREATE')
  const columns = columnsFor(random, known, table, 'CREATE')
  const unique = table.columns.filter((column) => column.definition.unique === true)
  const key = random.pick(unique.length > 0 && random.chance(0.9) ? unique : table.columns)
  const named = [key, ...random.sample(columns, random.below(columns.length)).filter((column) => column !== key)]
  const records = Array.from({ length: 1 + random.below(2) }, () => ({ fields: recordFor(random, known, table, named) }))
  return { method: 'insert', args: [table.name, records, { upsert: key.name, tokenization: random.chance(0.5) }] }
}

function updateOne(random: SeededRandom, known: KnownValues): LeakRequest {
  const table = tableFor(random, known, 'UPDATE')
  const columns = columnsFor(random, known, table, 'UPDATE')
  const fields = recordFor(random, known, table, random.sample(columns, 1 + random.below(Math.min(3, columns.length))))
  return { method: 'updateOne', args: [table.name, idFor(random, known, table), fields, { tokenization: random.chance(0.5) }] }
}

/** At times records whose unique values exist, visible to the caller or not. */
function insertUntaken(random: SeededRandom, known: KnownValues): LeakRequest {
  const { method, args } = insert(random, known)
  const [table, records, options] = args
  return { method, args: [table, records, { ...Object(options), onConflict: 'ignore' }] }
}

function update(random: SeededRandom, known: KnownValues): LeakRequest {
  const table = tableFor(random, known, 'UPDATE')
  const columns = columnsFor(random, known, table, 'UPDATE')
  const changes = Array.from({ length: 1 + random.below(3) }, () => {
    const named = random.sample(columns, 1 + random.below(Math.min(3, columns.length)))
    return { id: idFor(random, known, table), fields: recordFor(random, known, table, named) }
  })
  return { method: 'update', args: [table.name, changes, { tokenization: random.chance(0.5) }] }
}

/** The records of a look-up: mostly in a column that has an index. */
function whereIn(random: SeededRandom, known: KnownValues, table: LeakTable): Readonly<Record<string, unknown>> {
  const found = table.columns.filter(({ definition }) => definition.unique || definition.searchable || definition.index)
  const column = random.pick(found.length > 0 && random.chance(0.9) ? found : table.columns)
  const values = Array.from({ length: 1 + random.below(2) }, () => valueFor(random, known, table, column))
  return { [column.name]: values.length === 1 && random.chance(0.5) ? values[0] : values }
}

function updateWhere(random: SeededRandom, known: KnownValues): LeakRequest {
  const table = tableFor(random, known, 'UPDATE')
  const columns = columnsFor(random, known, table, 'UPDATE')
  const fields = recordFor(random, known, table, random.sample(columns, 1 + random.below(Math.min(2, columns.length))))
  return {
    method: 'updateWhere',
    args: [table.name, whereIn(random, known, table), fields, { tokenization: random.chance(0.5) }],
  }
}

function deleteWhere(random: SeededRandom, known: KnownValues): LeakRequest {
  const table = tableFor(random, known, 'DELETE')
  return { method: 'deleteWhere', args: [table.name, whereIn(random, known, table)] }
}

function idFor(random: SeededRandom, known: KnownValues, table: LeakTable): string {
  const ids = known.idsOf(random.chance(0.95) ? table : random.pick(known.tables))
  return ids.length > 0 && random.chance(0.95) ? random.pick(ids) : UNKNOWN_ID
}

/** Random options of a read. */
function showing(random: SeededRandom, known: KnownValues, table: LeakTable): Record<string, unknown> {
  const columns = columnsFor(random, known, table, 'READ')
  const fields = random.sample(columns, 1 + random.below(columns.length)).map(({ name }) => name)
  return {
    ...(random.chance(0.8) ? { redaction: random.pick(LEVELS) } : {}),
    ...(random.chance(0.3) ? { fields } : {}),
    ...refusing(random),
  }
}

/** At times the option that refuses what is not in plain text. */
function refusing(random: SeededRandom): Record<string, unknown> {
  return random.chance(0.1) ? { onLowered: 'throw' } : {}
}

function getByIds(random: SeededRandom, known: KnownValues): LeakRequest {
  const table = tableFor(random, known, 'READ')
  const ids = Array.from({ length: 1 + random.below(2) }, () => idFor(random, known, table))
  return { method: 'get', args: [table.name, { ids, ...showing(random, known, table) }] }
}

function lookUp(random: SeededRandom, known: KnownValues): LeakRequest {
  const table = tableFor(random, known, 'READ')
  return { method: 'get', args: [table.name, { where: whereIn(random, known, table), ...showing(random, known, table) }] }
}

function getPage(random: SeededRandom, known: KnownValues): LeakRequest {
  const table = tableFor(random, known, 'READ')
  const page = {
    ...(random.chance(0.3) ? { offset: random.below(4) } : {}),
    ...(random.chance(0.3) ? { limit: 1 + random.below(6) } : {}),
    ...(random.chance(0.3) ? { orderBy: random.pick(['ASCENDING', 'DESCENDING', 'NONE']) } : {}),
  }
  return { method: 'get', args: [table.name, { ...page, ...showing(random, known, table) }] }
}

const BOUNDS = ['from', 'above', 'to', 'below', 'prefix'] as const

/** A page of records by ranges of values, in the order of a column. */
function getByValue(random: SeededRandom, known: KnownValues): LeakRequest {
  const pages = known.pages()
  if (pages.length > 0 && random.chance(0.4)) return nextPage(random, random.pick(pages))
  const table = tableFor(random, known, 'READ')
  const columns = columnsFor(random, known, table, random.pick(['READ', 'READ', 'SEARCH'] as const))
  const termOf = (column: LeakColumn): unknown => {
    const value = () => valueFor(random, known, table, column)
    const range = () => Object.fromEntries(random.sample(BOUNDS, 1 + random.below(2)).map((bound) => [bound, value()]))
    return random.chance(0.6) ? range() : random.pick([null, value(), [value(), value()]])
  }
  const where = Object.fromEntries(random.sample(columns, random.below(3)).map((column) => [column.name, termOf(column)]))
  const by = { column: random.pick(columns).name, order: random.pick(['ASCENDING', 'DESCENDING']) }
  const page = {
    ...(Object.keys(where).length === 0 ? {} : { where }),
    ...(random.chance(0.7) ? { orderBy: random.pick([by, by.column]) } : {}),
    ...(random.chance(0.3) ? { offset: random.below(4) } : {}),
    limit: 1 + random.below(6),
  }
  return { method: 'get', args: [table.name, { ...page, ...showing(random, known, table) }] }
}

/** The page after one, or at times another read with its cursor. */
function nextPage(random: SeededRandom, { request, next }: ReadPage): LeakRequest {
  const [table, options] = request.args
  const { offset: _, ...read } = Object(options)
  const after = random.chance(0.1) ? `${next.slice(0, -2)}AA` : next
  const other = random.chance(0.2)
    ? { orderBy: random.pick(['ASCENDING', 'region', { column: 'grade', order: 'DESCENDING' }]) }
    : {}
  return { method: request.method, args: [table, { ...read, ...other, after, limit: 1 + random.below(3) }] }
}

function tokenView(random: SeededRandom, known: KnownValues): LeakRequest {
  const table = tableFor(random, known, 'READ')
  const which = random.chance(0.5) ? { ids: [idFor(random, known, table)] } : {}
  return { method: 'get', args: [table.name, { ...which, tokenization: true }] }
}

function getOne(random: SeededRandom, known: KnownValues): LeakRequest {
  const table = tableFor(random, known, 'READ')
  return { method: 'getOne', args: [table.name, idFor(random, known, table), showing(random, known, table)] }
}

function remove(random: SeededRandom, known: KnownValues): LeakRequest {
  const table = tableFor(random, known, 'DELETE')
  if (random.chance(0.1)) return { method: 'delete', args: [table.name, '*'] }
  const ids = Array.from({ length: 1 + random.below(2) }, () => idFor(random, known, table))
  return random.chance(0.5) ? { method: 'deleteOne', args: [table.name, ids[0]] } : { method: 'delete', args: [table.name, ids] }
}

/** A few changes, and then reads, so that the reads can be compared with the state after the batch. */
function batch(random: SeededRandom, known: KnownValues): LeakRequest {
  const changing = [...toItems(insert(random, known)), ...toItems(upsert(random, known)), ...toItems(update(random, known))]
  const table = tableFor(random, known, 'DELETE')
  const removal = { delete: table.name, id: idFor(random, known, table) }
  const changes = random.sample([...changing, removal], random.below(4))
  const reads = Array.from({ length: random.below(4) + (changes.length === 0 ? 1 : 0) }, () => readItem(random, known))
  const options = { continueOnError: random.chance(0.8), ...(random.chance(0.2) ? { byot: 'ENABLE' } : {}) }
  return { method: 'batch', args: [[...changes, ...reads], options] }
}

function readItem(random: SeededRandom, known: KnownValues): object {
  const table = tableFor(random, known, 'READ')
  const showing = random.chance(0.3) ? { tokenization: true } : random.chance(0.8) ? { redaction: random.pick(LEVELS) } : {}
  return { get: table.name, id: idFor(random, known, table), ...showing }
}

/** An insert or an update as items of a batch. */
function toItems({ method, args: [tableName, first, second, third] }: LeakRequest): object[] {
  const { tokenization, upsert: key } = Object(method === 'insert' ? second : third)
  const asked = tokenization === true ? { tokenization } : {}
  if (method === 'updateOne') return [{ update: tableName, id: first, fields: second, ...asked }]
  const upserting = key === undefined ? {} : { upsert: key }
  return (Array.isArray(first) ? first : []).map((record) => ({ insert: tableName, ...record, ...asked, ...upserting }))
}

function someTokens(random: SeededRandom, known: KnownValues): string[] {
  const tokens = known.tokens()
  const drawn = Array.from({ length: 1 + random.below(3) }, () =>
    tokens.length > 0 && random.chance(0.9) ? random.pick(tokens) : 'no such token',
  )
  return random.chance(0.05) ? [...drawn, String(known.fresh('STRING'))] : drawn
}

function detokenize(random: SeededRandom, known: KnownValues): LeakRequest {
  const level = () => (random.chance(0.8) ? { redaction: random.pick(LEVELS) } : {})
  const parameters = someTokens(random, known).map((token) => ({ token, ...level() }))
  return { method: 'detokenize', args: [parameters, { continueOnError: random.chance(0.8), ...refusing(random) }] }
}

function tokenize(random: SeededRandom, known: KnownValues): LeakRequest {
  const table = tableFor(random, known, 'TOKENIZATION')
  const deterministic = table.columns.filter((column) => tokenKindOf(column)?.startsWith('deterministic'))
  const column = random.pick(deterministic.length > 0 && random.chance(0.9) ? deterministic : table.columns)
  const guesses = known.guessesFor(table, column)
  const value = random.chance(0.7) && guesses.length > 0 ? random.pick(guesses) : valueFor(random, known, table, column)
  const inGroup = column.definition.columnGroup !== undefined && random.chance(0.5)
  const place = inGroup ? { columnGroup: 'kin' } : { table: table.name, column: column.name }
  return { method: 'tokenize', args: [[{ value, ...place }]] }
}

function getByTokens(random: SeededRandom, known: KnownValues): LeakRequest {
  const options = random.chance(0.7) ? { redaction: random.pick(LEVELS) } : {}
  return { method: 'getByTokens', args: [someTokens(random, known), { ...options, ...refusing(random) }] }
}

function listEvents(random: SeededRandom): LeakRequest {
  return { method: 'listEvents', args: [{ filterOps: { accountID: 'v1' }, limit: 1 + random.below(100) }] }
}

function explain(random: SeededRandom, known: KnownValues): LeakRequest {
  const table = random.pick(known.tables)
  const row = random.chance(0.6) ? { row: recordFor(random, known, table, random.sample(table.columns, 3)) } : {}
  return { method: 'explain', args: [random.pick(ACTIONS), table.name, row] }
}
