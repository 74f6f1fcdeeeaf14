/** Records the input of an operation: the members it names, with every value replaced and equal neighbors of a list merged. */
import { type IsName, UNKNOWN_NAME } from '../errors.ts'
import { isList } from '../util/lists.ts'
import { hasOwnNames } from '../util/options.ts'

/**
 * How a member is recorded. `value`: replaced; a list of values is counted. `name`: unchanged if the schema has the name, or a list of names, each so. `columns`: the
 * member names of an object, or the items of a list, that the schema has. `flag` and `number`: unchanged. `omitted`: not recorded. A list: unchanged if it is one
 * of these words. An object: member by member, also for each item of a list. `lookup`: the member names of an object, that the schema has, with their values counted.
 * `order`: a word of the orders, or the name of a column that the schema has, also beside its order.
 */
export type RecordedShape =
  | 'value'
  | 'lookup'
  | 'order'
  | 'name'
  | 'columns'
  | 'flag'
  | 'number'
  | 'omitted'
  | readonly string[]
  | Members

/** The members that are recorded. */
export interface Members {
  readonly [member: string]: RecordedShape
}

/** The words of an order. */
const ORDERS: readonly string[] = ['ASCENDING', 'DESCENDING', 'NONE']
/** An order by a column. */
const COLUMN_ORDER: Members = { column: 'name', order: ORDERS }
/** Replaces every value. */
const REPLACED = '*REDACTED*'
/** Maximum number of different entries of one list. Of the others, only the count is recorded. */
const MAX_ENTRIES = 100
/** Maximum number of members of one object that are recorded. */
const MAX_MEMBERS = 1000

/**
 * The JSON text of the input of an operation for `data.content`. It holds only words of the shape, names of the schema, flags, integers and counts.
 * The members of `options` are recorded after the others; those that the input has itself are not overridden.
 */
export function recordInput(given: Readonly<Record<string, unknown>>, shape: Members, isName: IsName): string {
  const folded = new Folded(shape, isName)
  const { options } = given
  for (const name of Object.keys(given)) {
    if (name !== 'options' && !folded.add(name, given[name])) return JSON.stringify(folded.members)
  }
  if (typeof options === 'object' && options !== null) {
    for (const [name, value] of Object.entries(options)) {
      if ((name === 'options' || !Object.hasOwn(given, name)) && !folded.add(name, value)) break
    }
  }
  return JSON.stringify(folded.members)
}

function fold(part: unknown, shape: RecordedShape, isName: IsName): unknown {
  if (shape === 'omitted') return REPLACED
  if (shape === 'value') return foldValue(part)
  if (shape === 'flag') return typeof part === 'boolean' ? part : REPLACED
  if (shape === 'number') return Number.isSafeInteger(part) ? part : REPLACED
  if (shape === 'name') return foldName(part, isName)
  if (shape === 'columns') return foldColumns(part, isName)
  if (shape === 'lookup') return foldLookup(part, isName)
  if (shape === 'order') return foldOrder(part, isName)
  if (isWords(shape)) return typeof part === 'string' && shape.includes(part) ? part : REPLACED
  if (isList(part))
    return foldList(
      part,
      (first) => likenessTo(first, shape),
      (item) => foldOne(item, shape, isName),
    )
  return foldOne(part, shape, isName)
}

/** Replaces a name that the schema does not have, also beside an order. */
function foldOrder(part: unknown, isName: IsName): unknown {
  if (typeof part !== 'string') return foldOne(part, COLUMN_ORDER, isName)
  return ORDERS.includes(part) ? part : foldName(part, isName)
}

/** Replaces a name that the schema does not have. */
function foldName(part: unknown, isName: IsName): unknown {
  if (isList(part)) return foldColumns(part, isName)
  return part === '' || isKnown(part, isName) ? part : REPLACED
}

/** Replaces a value; a list of values is counted. */
function foldValue(part: unknown): unknown {
  if (!isList(part)) return REPLACED
  return foldList(
    part,
    () => always,
    () => REPLACED,
  )
}

/** Replaces the values of an object, and the names that the schema does not have. Lists of values are counted. */
function foldLookup(part: unknown, isName: IsName): unknown {
  return isPlain(part) ? foldNames(part, isName, foldValue) : REPLACED
}

function foldOne(part: unknown, shape: Members, isName: IsName): unknown {
  if (!isPlain(part)) return REPLACED
  const folded = new Folded(shape, isName)
  for (const name of Object.keys(part)) if (!folded.add(name, part[name])) break
  return folded.members
}

/** An object as it is recorded, member by member. A class, because each operation makes one. */
class Folded {
  readonly members: Record<string, unknown> = {}
  readonly #shape: Members
  readonly #isName: IsName
  #count = 0

  constructor(shape: Members, isName: IsName) {
    this.#shape = shape
    this.#isName = isName
  }

  /** Adds a member; one that is undefined is left out. Returns false if it is one too many. */
  add(name: string, value: unknown): boolean {
    if (value === undefined) return true
    if (++this.#count > MAX_MEMBERS) return false
    const shape = Object.hasOwn(this.#shape, name) ? this.#shape[name] : undefined
    // Assigned, because the name is one of the shape or *UNKNOWN*: none is one that an object inherits.
    if (shape === undefined) this.members[UNKNOWN_NAME] = REPLACED
    else if (shape !== 'omitted') this.members[name] = fold(value, shape, this.#isName)
    return true
  }
}

function foldColumns(columns: unknown, isName: IsName): unknown {
  if (isList(columns))
    return foldList(
      columns,
      (first) => (name) => Object.is(first, name),
      (name) => (isKnown(name, isName) ? name : REPLACED),
    )
  return isPlain(columns) ? foldNames(columns, isName) : REPLACED
}

function isKnown(name: unknown, isName: IsName): boolean {
  return typeof name === 'string' && isName(name)
}

/** Replaces the values of an object, and the names that the schema does not have. */
function foldNames(
  part: Readonly<Record<string, unknown>>,
  isName: IsName,
  foldMember: (value: unknown) => unknown = () => REPLACED,
): object {
  const folded: Record<string, unknown> = {}
  let count = 0
  for (const name of Object.keys(part)) {
    if (part[name] === undefined) continue
    if (++count > MAX_MEMBERS) break
    // Assigned, because the name is one of the schema or *UNKNOWN*: none is one that an object inherits.
    folded[isName(name) ? name : UNKNOWN_NAME] = foldMember(part[name])
  }
  return folded
}

/** True for an item that is recorded as another one. */
type Likeness = (item: unknown) => boolean

/** Returns one entry for each run of equal neighbors, with their count if there is more than one. */
function foldList(
  list: readonly unknown[],
  likenessTo: (first: unknown) => Likeness,
  foldItem: (item: unknown) => unknown,
): unknown[] {
  const entries: unknown[] = []
  let start = 0
  while (start < list.length && entries.length < MAX_ENTRIES) {
    let end = start + 1
    const isLikeFirst = end < list.length ? likenessTo(list[start]) : always
    if (isLikeFirst === always) end = list.length
    while (end < list.length && isLikeFirst(list[end])) end++
    entries.push(counted(foldItem(list[start]), end - start))
    start = end
  }
  if (start < list.length) entries.push({ more: list.length - start })
  return entries
}

function counted(entry: unknown, times: number): unknown {
  if (times === 1) return entry
  return typeof entry === 'object' && entry !== null ? { ...entry, times } : { each: entry, times }
}

/** Items are recorded in the same way if they have the same members in the same order, the same columns, and equal options. */
function likenessTo(first: unknown, shape: Members): Likeness {
  if (!isPlain(first)) return () => false
  const names = Object.keys(first)
  // Values are all recorded as one word. Comparing two of them would take longer than all else of an item.
  const members = names.flatMap((name) => {
    const value = first[name]
    const columns = isPlain(value) ? Object.keys(value) : undefined
    return shape[name] === 'value' ? [] : [{ name, value, shape: shape[name], columns }]
  })
  return (item) => {
    if (!isPlain(item) || !hasOwnNames(item, names)) return false
    for (const { name, value, shape, columns } of members) {
      const other = item[name]
      if (value === other) continue
      if (shape !== 'columns' || columns === undefined || !isPlain(other) || !hasOwnNames(other, columns)) return false
    }
    return true
  }
}

function always(): boolean {
  return true
}

function isPlain(part: unknown): part is Readonly<Record<string, unknown>> {
  return typeof part === 'object' && part !== null && !isList(part)
}

function isWords(shape: RecordedShape): shape is readonly string[] {
  return isList(shape)
}
