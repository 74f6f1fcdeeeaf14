/** Names that every process derives alike: prepared statements, indexes and sequences, each within PostgreSQL's 63 bytes; and back, from what the server calls them. */
import type { PhysicalIndex, PhysicalTable } from '../../core/ports/storage.ts'
import { longTextsOf } from './text-indexes.ts'

/** PostgreSQL truncates longer names. */
export const MAX_IDENTIFIER_BYTES = 63

/** An extension that spreads tables over servers appends `_` and the number of the shard. Made names leave room for 14 digits, or it would cut them. */
const MAX_MADE_BYTES = 48

/** FNV-1a over UTF-16 units in two 32-bit halves, as base 36. It separates names and is not for secrets. */
export function stableHash(text: string): string {
  let low = 0x811c9dc5
  let high = 0xcbf29ce4
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    low = Math.imul(low ^ unit, 0x01000193)
    high = Math.imul(high ^ (unit + i), 0x01000193) ^ (low >>> 13)
  }
  return (high >>> 0).toString(36).padStart(7, '0') + (low >>> 0).toString(36).padStart(7, '0')
}

/**
 * The name among `known` that a server means by `name`: itself, or the one to which the number of a shard was appended. Of a name that is too
 * long for that, the extension puts a hash in place of the end.
 */
export function knownName(name: string, known: readonly string[]): string | undefined {
  if (known.includes(name)) return name
  const [, whole = '', cut] = /^((.+)_[0-9a-f]{8}|.+)_\d+$/.exec(name) ?? []
  if (known.includes(whole)) return whole
  const cuts = cut === undefined ? [] : known.filter((one) => one.startsWith(cut))
  return cuts.length === 1 ? cuts[0] : undefined
}

/** `words` and `ending` joined; when that is too long, the words are cut and a hash of them all put in between. */
export function fittedName(words: readonly string[], ending: string): string {
  const whole = `${words.join('_')}_${ending}`
  if (Buffer.byteLength(whole) <= MAX_MADE_BYTES) return whole
  const tail = `_${stableHash(JSON.stringify(words))}_${ending}`
  let head = whole
  while (Buffer.byteLength(head) > MAX_MADE_BYTES - tail.length) head = [...head].slice(0, -1).join('')
  return head + tail
}

/** The name of an index. One that holds long texts in part has another name than one that holds them whole. */
export function indexName(table: PhysicalTable, index: PhysicalIndex): string {
  return nameOf(table.name, index, longTextsOf(table, index).length > 0 ? ['parts'] : [])
}

/** The name of an index that holds long texts whole, as earlier versions made them; undefined if the index is still made so. */
export function formerIndexName(table: PhysicalTable, index: PhysicalIndex): string | undefined {
  return longTextsOf(table, index).length > 0 ? nameOf(table.name, index, []) : undefined
}

/** The hash separates `a_b` from `a`, `b`. */
function nameOf(table: string, { columns, unique }: PhysicalIndex, kind: readonly string[]): string {
  const exact = stableHash(JSON.stringify([table, columns, ...kind])).slice(0, 8)
  return fittedName([table, ...columns, exact], unique ? 'key' : 'idx')
}

export function primaryKeyName(table: string): string {
  return fittedName([table], 'pkey')
}

export function sequenceName(table: string): string {
  return fittedName([table], 'ids')
}
