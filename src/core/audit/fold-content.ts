/** What an event keeps of a request's body: its members, with every value replaced, and equal neighbours of a list told once. */

/** Stands in place of every value. */
const REPLACED = '*REDACTED*'
/** Stands in place of a name that is none the vault knows: a careless caller may have put a value there. */
const UNKNOWN_NAME = '*UNKNOWN*'
/** Different entries of one list that are told; of those behind them, only how many there are. */
const MOST_ENTRIES = 100
/** Members of one object that are told. */
const MOST_MEMBERS = 1000

/** Members that hold no values, only choices, numbers and names; what of them is shown is shown below. */
const CHOICES: ReadonlySet<string> = new Set([
  'byot',
  'column',
  'columnGroup',
  'columnName',
  'continueOnError',
  'downloadURL',
  'homogeneous',
  'method',
  'orderBy',
  'redaction',
  'returnFileMetadata',
  'table',
  'tableName',
  'tokenization',
  'upsert',
])
/** Members that hold a number, and no number of somebody's. */
const NUMBERS: ReadonlySet<string> = new Set(['limit', 'offset'])
/** Members that hold columns by name, or a list of names. */
const COLUMNS: ReadonlySet<string> = new Set(['fields', 'tokens'])
/** Members that hold further ones. */
const PARTS: ReadonlySet<string> = new Set(['records', 'items', 'requests'])
/** Members whose whole content is values. */
const VALUES: ReadonlySet<string> = new Set([
  'ID',
  'batchID',
  'columnValues',
  'column_values',
  'fileName',
  'id',
  'ids',
  'query',
  'sql',
  'token',
  'value',
])
/** Every word a choice can be. */
const WORDS: ReadonlySet<string> = new Set([
  '',
  '*',
  'ASCENDING',
  'DEFAULT',
  'DELETE',
  'DESCENDING',
  'DISABLE',
  'ENABLE',
  'ENABLE_STRICT',
  'GET',
  'MASKED',
  'NONE',
  'PLAIN_TEXT',
  'POST',
  'PUT',
  'REDACTED',
])

/** How deep members may stand in members: a batch has records, and those have columns. */
const DEEPEST = 4

/** Says whether a text is the name of a table, a column or a column group. Every other text counts as a value. */
export type IsName = (text: string) => boolean

/**
 * The JSON text of a request's body for `data.content`. Whatever the body is, nothing passes but words of our own, names of
 * the schema, booleans and whole numbers of choices, and counts.
 */
export function foldBody(body: unknown, isName: IsName): string {
  return JSON.stringify(foldPart(body, isName, 1))
}

function foldPart(part: unknown, isName: IsName, depth: number): unknown {
  if (depth > DEEPEST || typeof part !== 'object' || part === null) return REPLACED
  if (isList(part)) return foldList(part, isAlike, (item) => foldPart(item, isName, depth + 1))
  return foldMembers(part, (name, value) => {
    if (CHOICES.has(name)) return [name, foldChoice(value, isName)]
    if (NUMBERS.has(name)) return [name, Number.isSafeInteger(value) ? value : REPLACED]
    if (COLUMNS.has(name)) return [name, foldColumns(value, isName)]
    if (PARTS.has(name)) return [name, foldPart(value, isName, depth + 1)]
    return VALUES.has(name) ? [name, foldValues(value)] : [UNKNOWN_NAME, REPLACED]
  })
}

function foldChoice(value: unknown, isName: IsName): unknown {
  if (typeof value === 'boolean') return value
  return typeof value === 'string' && (WORDS.has(value) || isName(value)) ? value : REPLACED
}

function foldColumns(columns: unknown, isName: IsName): unknown {
  if (typeof columns !== 'object' || columns === null) return REPLACED
  if (isList(columns)) return foldList(columns, Object.is, (name) => (typeof name === 'string' && isName(name) ? name : REPLACED))
  return foldMembers(columns, (name) => [isName(name) ? name : UNKNOWN_NAME, REPLACED])
}

function foldValues(values: unknown): unknown {
  const isMany = typeof values === 'object' && values !== null && isList(values)
  return isMany
    ? foldList(
        values,
        () => true,
        () => REPLACED,
      )
    : REPLACED
}

/** Members in the order they stand; those that are undefined are not there. */
function foldMembers(part: object, fold: (name: string, value: unknown) => readonly [string, unknown]): object {
  const members = Object.entries(part).filter(([, value]) => value !== undefined)
  return Object.fromEntries(members.slice(0, MOST_MEMBERS).map(([name, value]) => fold(name, value)))
}

/** One entry for each run of neighbours that are alike, with their number where it is more than one. */
function foldList(
  list: readonly unknown[],
  areAlike: (left: unknown, right: unknown) => boolean,
  fold: (item: unknown) => unknown,
): unknown[] {
  const entries: unknown[] = []
  let start = 0
  while (start < list.length && entries.length < MOST_ENTRIES) {
    let end = start + 1
    while (end < list.length && areAlike(list[start], list[end])) end++
    entries.push(counted(fold(list[start]), end - start))
    start = end
  }
  if (start < list.length) entries.push({ more: list.length - start })
  return entries
}

function counted(entry: unknown, times: number): unknown {
  if (times === 1) return entry
  return typeof entry === 'object' && entry !== null ? { ...entry, times } : { each: entry, times }
}

/** True when two items are surely told alike: the same members in the same order, the same columns, equal choices. */
function isAlike(left: unknown, right: unknown): boolean {
  if (!isPlain(left) || !isPlain(right) || !areSameNames(left, right)) return false
  for (const name of Object.keys(left)) {
    const [one, other] = [left[name], right[name]]
    if (one === other || VALUES.has(name)) continue
    if (!COLUMNS.has(name) || !isPlain(one) || !isPlain(other) || !areSameNames(one, other)) return false
  }
  return true
}

function areSameNames(left: object, right: object): boolean {
  const [names, others] = [Object.keys(left), Object.keys(right)]
  return names.length === others.length && names.every((name, index) => name === others[index])
}

function isPlain(part: unknown): part is Readonly<Record<string, unknown>> {
  return typeof part === 'object' && part !== null && !isList(part)
}

/** `Array.isArray` without its `any`. */
function isList(part: object): part is readonly unknown[] {
  return Array.isArray(part)
}
