/** One item of a batch: its members, which of them belong to its method, and which items are alike. Source: specification, "BatchRecord". */
import type { RecordedShape } from '../audit/record-shape.ts'
import type { ByotMode } from '../barrier/supplied-tokens.ts'
import { fault, words } from '../errors.ts'
import type { Untrusted } from '../execution/operation.ts'
import { REDACTIONS, type Redaction } from '../redaction.ts'
import { assertMembers, hasOwnNames } from '../util/options.ts'

/** The methods of items, each named by the verb of the session that does the same for one record. */
export const METHOD_NAMES = ['insert', 'update', 'get', 'delete'] as const

/** The method of an item. */
export type MethodName = (typeof METHOD_NAMES)[number]

/** The record of an earlier item: the one that it inserted, updated or read. `response` is the position of that item, from 0. */
export interface ResponseReference {
  readonly response: number
}

/** One operation of a batch: one of the methods with the name of its table. A member that does not belong to the method is refused. */
export interface BatchItem {
  /** The table of a record to insert. */
  readonly insert?: string
  /** The table of a record to update. */
  readonly update?: string
  /** The table of a record to read. */
  readonly get?: string
  /** The table of a record to delete. */
  readonly delete?: string
  /** The record id, or the item whose record is meant: to update, get and delete. */
  readonly id?: string | ResponseReference
  /** The values by column: to insert and update. */
  readonly fields?: unknown
  /** Tokens supplied by the caller: to insert and update. */
  readonly tokens?: unknown
  /** To get. Default DEFAULT. */
  readonly redaction?: Redaction
  /** Return tokens: to insert, update and get. Default false. */
  readonly tokenization?: boolean
  /** Accept `*REDACTED*` and masked forms as values: to insert and update. Default false. */
  readonly allowShownText?: boolean
  /** A unique column, or the columns that are unique together: to insert. */
  readonly upsert?: string | readonly string[]
  /** Leave out the record if another one holds one of its unique values: to insert. */
  readonly onConflict?: 'ignore'
  /** Return tickets to download files: to get. Default false. */
  readonly downloadTickets?: boolean
  /** Return the metadata of files: to get. Default false. */
  readonly returnFileMetadata?: boolean
  /** Return the version of the record: to get. Default false. */
  readonly version?: boolean
  /** The version of an earlier read: to update and delete. The item is `aborted` if the record was written since. */
  readonly ifVersion?: string
  /** Delete the transient values of the record too: to delete. Default false. */
  readonly transients?: boolean
}

/** A member that belongs to some methods only. */
export type MethodMember = Exclude<keyof BatchItem, MethodName>

const METHOD_MEMBERS: readonly MethodMember[] = [
  'fields',
  'tokens',
  'id',
  'redaction',
  'tokenization',
  'allowShownText',
  'upsert',
  'onConflict',
  'downloadTickets',
  'returnFileMetadata',
  'version',
  'ifVersion',
  'transients',
]

/** The members of an item, read once, and how the batch treats supplied tokens, if it says so. */
export interface ItemMembers extends Untrusted<Pick<BatchItem, MethodMember>> {
  readonly method: MethodName
  readonly table: string
  /** Undefined for a method without it. */
  readonly id: unknown
  readonly byot: ByotMode | undefined
}

/** What events record of an item. */
export const RECORDED_ITEM = {
  insert: 'name',
  update: 'name',
  get: 'name',
  delete: 'name',
  id: 'value',
  fields: 'columns',
  tokens: 'columns',
  redaction: REDACTIONS,
  tokenization: 'flag',
  allowShownText: 'flag',
  upsert: 'name',
  onConflict: ['ignore'],
  downloadTickets: 'flag',
  returnFileMetadata: 'flag',
  version: 'flag',
  ifVersion: 'value',
  transients: 'flag',
} as const satisfies Readonly<Record<keyof BatchItem, RecordedShape>>

/** The names of all members. */
const MEMBERS = Object.keys(RECORDED_ITEM)

/** Returns the method of an item. Throws `invalid_request` unless it has exactly one. */
export function parseMethod(item: unknown): MethodName {
  if (typeof item !== 'object' || item === null) throw fault('invalid_request')`An item must be an object.`
  let found: MethodName | undefined
  let count = 0
  for (const name of METHOD_NAMES) {
    if (Reflect.get(item, name) === undefined) continue
    found = name
    count++
  }
  if (found !== undefined && count === 1) return found
  throw fault('invalid_request')`An item must have one of insert, update, get and delete, with the name of its table.`
}

/** Returns the members that do not belong to a method. */
export function foreignMembers(members: readonly MethodMember[]): readonly MethodMember[] {
  return METHOD_MEMBERS.filter((name) => !members.includes(name))
}

/** The method of an item, the members that do not belong to it, and the option of the batch. */
export interface OfMethod extends Pick<ItemMembers, 'byot'> {
  readonly method: MethodName
  readonly foreign: readonly MethodMember[]
}

/**
 * Returns the members of an item. Reads each once, and copies the columns of a record, so that the event names the columns that are stored.
 * Throws `invalid_request` for a member that does not belong to the method.
 */
export function readMembers(item: unknown, position: number, { method, foreign, byot }: OfMethod): ItemMembers {
  const given: Untrusted<BatchItem> = typeof item === 'object' && item !== null ? item : {}
  assertMembers(given, MEMBERS, { member: 'an item' })
  const { [method]: table, id, fields, tokens, redaction, tokenization, allowShownText, upsert, onConflict } = given
  const { downloadTickets, returnFileMetadata, version, ifVersion, transients } = given
  if (typeof table !== 'string') throw fault('invalid_request')`${words(method)} must be the name of a table.`
  const read: ItemMembers = {
    method,
    table,
    byot,
    id,
    redaction,
    tokenization,
    allowShownText,
    upsert,
    onConflict,
    downloadTickets,
    returnFileMetadata,
    version,
    ifVersion,
    transients,
    fields: copyColumns(fields),
    tokens: copyColumns(tokens),
  }
  for (const name of foreign) {
    if (read[name] !== undefined) throw fault('invalid_request')`${words(name)} cannot be combined with ${words(method)}.`
  }
  const record = foreign.includes('id') ? undefined : parseRecord(id, position)
  return record === id ? read : { ...read, id: record }
}

/** Returns the position of the item whose record is meant; undefined for an item that names its record itself. */
export function referenceIn({ id }: Pick<ItemMembers, 'id'>): number | undefined {
  const response: unknown = typeof id === 'object' && id !== null ? Reflect.get(id, 'response') : undefined
  return typeof response === 'number' ? response : undefined
}

/** Returns the id of a record, or the item whose record is meant. Throws `invalid_request` for anything else. */
function parseRecord(id: unknown, position: number): string | ResponseReference {
  if (typeof id === 'string' && id !== '') return id
  if (typeof id !== 'object' || id === null || Object.keys(id).join() !== 'response')
    throw fault('invalid_request')`id must be the id of a record, or refer to an earlier item.`
  const response: unknown = Reflect.get(id, 'response')
  if (typeof response === 'number' && Number.isInteger(response) && response >= 0 && response < position) return { response }
  throw fault('invalid_request')`id must refer to an earlier item: its position is an integer from 0, below ${position}.`
}

/** Returns a copy of values by column. Anything else is returned unchanged, and refused later. */
function copyColumns(columns: unknown): unknown {
  if (typeof columns !== 'object' || columns === null) return columns
  return Object.prototype.toString.call(columns) === '[object Object]' ? { ...columns } : columns
}

/** The members of an item that others are compared with, and the names of its columns. */
export interface Compared {
  readonly members: ItemMembers
  readonly fields: readonly string[] | undefined
  readonly tokens: readonly string[] | undefined
}

/** Returns what items are compared with. */
export function toCompared(members: ItemMembers): Compared {
  return { members, fields: namesIn(members.fields), tokens: namesIn(members.tokens) }
}

/** True for an item of the same method with the same options, and the same columns in the same order. */
export function isAlike({ members: left, fields, tokens }: Compared, right: ItemMembers): boolean {
  return (
    left.table === right.table &&
    left.tokenization === right.tokenization &&
    left.allowShownText === right.allowShownText &&
    isSameUpsert(left.upsert, right.upsert) &&
    left.onConflict === right.onConflict &&
    left.redaction === right.redaction &&
    left.downloadTickets === right.downloadTickets &&
    left.returnFileMetadata === right.returnFileMetadata &&
    left.version === right.version &&
    left.transients === right.transients &&
    // It is not recorded, and neither is the id, which every item of a method has, or none.
    (left.ifVersion === undefined) === (right.ifVersion === undefined) &&
    (left.fields === right.fields || hasNames(right.fields, fields)) &&
    (left.tokens === right.tokens || hasNames(right.tokens, tokens))
  )
}

/** True for the same text, or for lists of the same names in the same order. */
function isSameUpsert(left: unknown, right: unknown): boolean {
  if (!Array.isArray(left) || !Array.isArray(right)) return left === right
  return left.length === right.length && left.every((name, index) => name === right[index])
}

/** Returns the names of an object that is no list; undefined for anything else. */
function namesIn(columns: unknown): readonly string[] | undefined {
  return isNamed(columns) ? Object.keys(columns) : undefined
}

function hasNames(columns: unknown, names: readonly string[] | undefined): boolean {
  return names !== undefined && isNamed(columns) && hasOwnNames(columns, names)
}

function isNamed(columns: unknown): columns is object {
  return typeof columns === 'object' && columns !== null && !Array.isArray(columns)
}
