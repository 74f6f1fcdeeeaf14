/** Items of a batch that differ in nothing but their values: they are recorded alike, and what they have in common is kept once. */
import { hasOwnNames } from '../util/options.ts'
import type { ItemMembers } from './batch-item.ts'

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
    left.upsert === right.upsert &&
    left.onConflict === right.onConflict &&
    left.redaction === right.redaction &&
    left.downloadTickets === right.downloadTickets &&
    left.returnFileMetadata === right.returnFileMetadata &&
    left.version === right.version &&
    // It is not recorded, and neither is the id, which every item of a method has, or none.
    (left.ifVersion === undefined) === (right.ifVersion === undefined) &&
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
