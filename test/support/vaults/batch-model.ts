/** A model of batches on a small vault: plain maps and hand-written rules, item by item. */

/** A record of the model. `token` is the supplied token of its name. */
export interface ModelRecord {
  readonly table: string
  readonly email: string
  readonly region: string | null
  readonly name: string | null
  readonly grade: number | null
  readonly token: string | undefined
}

/** An item as a request has it. */
export type ModelItem = Readonly<Record<string, unknown>>

/** The records of the model, by id. A record that the batch inserts has a position as its id: `#3`. */
export type Records = ReadonlyMap<string, ModelRecord>

/** How one item ends: the id that its response names and, of a read, the fields; or its code. */
export type ModelEnd = { readonly id: string; readonly fields?: Readonly<Record<string, unknown>> } | { readonly code: string }

/** How a batch ends. `stopped` is the position of the item that ended it. */
export interface ModelResult {
  readonly records: Records
  readonly ends: readonly ModelEnd[]
  readonly stopped: number | undefined
}

const TABLES: readonly string[] = ['people', 'friends']
const COLUMNS: readonly string[] = ['name', 'email', 'region', 'grade']

/** Runs items on records. The caller reads all but the south, and writes the north. */
export function runModel(before: Records, items: readonly ModelItem[], continueOnError: boolean): ModelResult {
  const records = new Map(before)
  const ends: ModelEnd[] = []
  for (const [position, item] of items.entries()) {
    const end = isMalformed(items, position) ? INVALID : endOfItem(records, item, { ends, newId: `#${position}` })
    ends.push(end)
    if ('code' in end && !continueOnError) return { records: before, ends, stopped: position }
  }
  return { records, ends, stopped: undefined }
}

const INVALID: ModelEnd = { code: 'invalid_request' }

/** The position that an item names in place of an id. */
function referenceIn({ id }: ModelItem): number | undefined {
  const response: unknown = Reflect.get(Object(id), 'response')
  return typeof response === 'number' ? response : undefined
}

/** The method of an item; undefined for none, or more than one. */
export function methodOf(item: ModelItem): 'insert' | 'update' | 'get' | 'delete' | undefined {
  const [method, ...others] = (['insert', 'update', 'get', 'delete'] as const).filter((name) => item[name] !== undefined)
  return others.length === 0 ? method : undefined
}

/** True for an item that cannot be read as one of its method. */
function isMalformed(items: readonly ModelItem[], position: number): boolean {
  const item = items[position] ?? {}
  const { id } = item
  const method = methodOf(item)
  if (method === undefined || 'stray' in item) return true
  if (method === 'insert') return 'id' in item
  if (method !== 'update' && 'fields' in item) return true
  const reference = referenceIn(item)
  if (reference === undefined) return typeof id !== 'string'
  return reference >= position || (methodOf(items[reference] ?? {}) === 'delete' && !isMalformed(items, reference))
}

interface Running {
  readonly ends: readonly ModelEnd[]
  readonly newId: string
}

/** Runs an item on the record that it names, by its id or by the position of an earlier item. */
function endOfItem(records: Map<string, ModelRecord>, item: ModelItem, { ends, newId }: Running): ModelEnd {
  const reference = referenceIn(item)
  if (reference === undefined) return endOf(records, item, newId)
  const earlier = ends[reference]
  return earlier === undefined || 'code' in earlier ? { code: 'not_found' } : endOf(records, { ...item, id: earlier.id }, newId)
}

function endOf(records: Map<string, ModelRecord>, item: ModelItem, newId: string): ModelEnd {
  const method = methodOf(item)
  const tableName = method === undefined ? undefined : item[method]
  if (typeof tableName !== 'string' || !TABLES.includes(tableName)) return { code: 'not_found' }
  const columns = Object.keys(item.fields ?? {})
  if (columns.some((name) => !COLUMNS.includes(name))) return INVALID
  const grade: unknown = Reflect.get(Object(item.fields), 'grade')
  if (grade !== undefined && grade !== null && typeof grade !== 'number') return { code: 'unprocessable' }
  if (method === 'insert') return post(records, item, { tableName, newId })
  return onRecord(records, item, tableName)
}

interface Inserting {
  readonly tableName: string
  readonly newId: string
}

function post(records: Map<string, ModelRecord>, item: ModelItem, { tableName, newId }: Inserting): ModelEnd {
  const fields = fieldsOf(item)
  const { name: token } = Object(item.tokens)
  const found = [...records].find(([, { table, email }]) => table === tableName && email === fields.email)
  if (item.upsert === undefined || found === undefined) {
    const record = { table: tableName, region: null, name: null, grade: null, email: '', ...fields, token }
    if (record.region !== 'north') return { code: 'forbidden' }
    if (found !== undefined || isTaken(records, token)) return { code: 'conflict' }
    records.set(newId, record)
    return { id: newId }
  }
  const [id, old] = found
  const record = { ...old, ...fields }
  if (old.region !== 'north') return { code: 'conflict' }
  if (record.region !== 'north') return { code: 'forbidden' }
  records.set(id, record)
  return { id }
}

function onRecord(records: Map<string, ModelRecord>, item: ModelItem, tableName: string): ModelEnd {
  const id = String(item.id)
  const old = records.get(id)
  const missing = { code: 'not_found' }
  if (old?.table !== tableName) return missing
  if (item.get !== undefined) {
    const { table: _table, token: _token, ...fields } = old
    return old.region === null || old.region === 'south' ? missing : { id, fields }
  }
  if (old.region !== 'north') return missing
  if (item.delete !== undefined) {
    records.delete(id)
    return { id }
  }
  const record = { ...old, ...fieldsOf(item) }
  if (record.region !== 'north') return { code: 'forbidden' }
  const others = [...records].filter(([other]) => other !== id)
  if (others.some(([, { table, email }]) => table === tableName && email === record.email)) return { code: 'conflict' }
  records.set(id, record)
  return { id }
}

function fieldsOf(item: ModelItem): Partial<ModelRecord> {
  return Object(item.fields)
}

/** A token is unique in its column. */
function isTaken(records: Records, token: unknown): boolean {
  return token !== undefined && [...records.values()].some((record) => record.token === token)
}
