/** One item of a batch: its members, which of them belong to its method, and which items are alike. Source: specification, "BatchRecord". */
import type { RecordedShape } from '../audit/record-shape.ts'
import type { ByotMode } from '../barrier/supplied-tokens.ts'
import { fault, words } from '../errors.ts'
import type { Untrusted } from '../execution/operation.ts'
import { REDACTIONS, type Redaction } from '../redaction/levels.ts'
import { assertMembers, hasOwnNames } from '../util/options.ts'

/** The methods: insert, update, read, delete. */
export const METHOD_NAMES = ['POST', 'PUT', 'GET', 'DELETE'] as const

/** The method of an item. */
export type MethodName = (typeof METHOD_NAMES)[number]

/** The record of an earlier item: the one that it inserted, updated or read. `response` is the position of that item, from 0. */
export interface ResponseReference {
  readonly response: number
}

/** One operation of a batch. A member that does not belong to its method is refused. */
export interface BatchItem {
  readonly method: MethodName
  readonly tableName: string
  /** The record: POST and PUT. */
  readonly fields?: unknown
  /** Tokens supplied by the caller: POST and PUT. */
  readonly tokens?: unknown
  /** The record id, or the item whose record is meant: PUT, GET and DELETE. */
  readonly ID?: string | ResponseReference
  /** Items of one batch id run in order. All items do. */
  readonly batchID?: string
  /** GET. Default DEFAULT. */
  readonly redaction?: Redaction
  /** Return tokens: POST, PUT and GET. Default false. */
  readonly tokenization?: boolean
  /** Accept `*REDACTED*` and masked forms as values: POST and PUT. Default false. */
  readonly allowShownText?: boolean
  /** A unique column: POST. */
  readonly upsert?: string
  /** Leave out the record if another one holds one of its unique values: POST. */
  readonly onConflict?: 'ignore'
  /** Return tickets to download files: GET. Default false. */
  readonly downloadURL?: boolean
  /** Return the metadata of files: GET. Default false. */
  readonly returnFileMetadata?: boolean
  /** Return the version of the record: GET. Default false. */
  readonly version?: boolean
  /** The version of an earlier read: PUT and DELETE. The item is `aborted` if the record was written since. */
  readonly ifVersion?: string
}

/** A member that belongs to some methods only. */
export type MethodMember = Exclude<keyof BatchItem, 'method' | 'tableName' | 'batchID'>

const METHOD_MEMBERS: readonly MethodMember[] = [
  'fields',
  'tokens',
  'ID',
  'redaction',
  'tokenization',
  'allowShownText',
  'upsert',
  'onConflict',
  'downloadURL',
  'returnFileMetadata',
  'version',
  'ifVersion',
]

/** The members of an item, read once, and how the batch treats supplied tokens, if it says so. */
export interface ItemMembers extends Untrusted<BatchItem> {
  /** Undefined for a method without it. */
  readonly ID: unknown
  readonly byot: ByotMode | undefined
}

/** What events record of an item. */
export const RECORDED_ITEM = {
  method: METHOD_NAMES,
  tableName: 'name',
  fields: 'columns',
  tokens: 'columns',
  ID: 'value',
  batchID: 'value',
  redaction: REDACTIONS,
  tokenization: 'flag',
  allowShownText: 'flag',
  upsert: 'name',
  onConflict: ['ignore'],
  downloadURL: 'flag',
  returnFileMetadata: 'flag',
  version: 'flag',
  ifVersion: 'value',
} as const satisfies Readonly<Record<keyof BatchItem, RecordedShape>>

/** The names of all members. */
const MEMBERS = Object.keys(RECORDED_ITEM)

/** Returns the method of an item. Throws `invalid_request`. */
export function parseMethod(item: unknown): MethodName {
  if (typeof item !== 'object' || item === null) throw fault('invalid_request')`An item must be an object.`
  const method: unknown = 'method' in item ? item.method : undefined
  for (const name of METHOD_NAMES) if (name === method) return name
  throw fault('invalid_request')`method must be POST, PUT, GET or DELETE.`
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
  const { tableName, fields, tokens, ID, batchID, redaction, tokenization, allowShownText, upsert, onConflict } = given
  const { downloadURL, returnFileMetadata, version, ifVersion } = given
  if (typeof tableName !== 'string') throw fault('invalid_request')`tableName must be text.`
  const read: ItemMembers = {
    method,
    tableName,
    byot,
    ID,
    batchID,
    redaction,
    tokenization,
    allowShownText,
    upsert,
    onConflict,
    downloadURL,
    returnFileMetadata,
    version,
    ifVersion,
    fields: copyColumns(fields),
    tokens: copyColumns(tokens),
  }
  for (const name of foreign) {
    if (read[name] !== undefined) throw fault('invalid_request')`${words(name)} cannot be combined with method ${words(method)}.`
  }
  const record = foreign.includes('ID') ? undefined : parseRecord(ID, position)
  if (batchID !== undefined && typeof batchID !== 'string') throw fault('invalid_request')`batchID must be a string.`
  return record === ID ? read : { ...read, ID: record }
}

/** Returns the position of the item whose record is meant; undefined for an item that names its record itself. */
export function referenceIn({ ID }: Pick<ItemMembers, 'ID'>): number | undefined {
  const response: unknown = typeof ID === 'object' && ID !== null ? Reflect.get(ID, 'response') : undefined
  return typeof response === 'number' ? response : undefined
}

/** Returns the id of a record, or the item whose record is meant. Throws `invalid_request` for anything else. */
function parseRecord(ID: unknown, position: number): string | ResponseReference {
  if (typeof ID === 'string' && ID !== '') return ID
  if (typeof ID !== 'object' || ID === null || Object.keys(ID).join() !== 'response')
    throw fault('invalid_request')`ID must be the id of a record, or refer to an earlier item.`
  const response: unknown = Reflect.get(ID, 'response')
  if (typeof response === 'number' && Number.isInteger(response) && response >= 0 && response < position) return { response }
  throw fault('invalid_request')`ID must refer to an earlier item: its position is an integer from 0, below ${position}.`
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
    left.tableName === right.tableName &&
    left.tokenization === right.tokenization &&
    left.allowShownText === right.allowShownText &&
    left.upsert === right.upsert &&
    left.onConflict === right.onConflict &&
    left.redaction === right.redaction &&
    left.downloadURL === right.downloadURL &&
    left.returnFileMetadata === right.returnFileMetadata &&
    left.version === right.version &&
    (left.ifVersion === undefined) === (right.ifVersion === undefined) &&
    // Neither is recorded, and of the id every item of a method has one, or none has.
    (left.batchID === undefined) === (right.batchID === undefined) &&
    (left.fields === right.fields || hasNames(right.fields, fields)) &&
    (left.tokens === right.tokens || hasNames(right.tokens, tokens))
  )
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
