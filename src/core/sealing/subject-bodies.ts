/** Bodies that are sealed with the key of a subject: their header names the row that holds it. They open only while that row exists. */
import type { KeyRing, Opened } from '../ports/crypto.ts'
import { at, required } from '../util/lists.ts'
import { freeBytes, type Slab, slabItem, slabStart, toSlab } from '../util/memory.ts'
import { type Address, sealBodies, writeAssociatedData } from './envelope.ts'
import type { SubjectKeyring } from './subject-keyring.ts'

/** The format of these bodies. Other formats: envelope.ts, file-pieces.ts. */
const SUBJECT_FORMAT = 5
/** Layout of the header in bytes, big-endian: format 1 | id of the row that holds the key 6. Ids are never given again, so a key needs no version. */
const HEADER_BYTES = 7

/** The key that seals what belongs to no subject: that of the vault. No row has this id. */
export const VAULT_KEY = 0

/** Returns the id of the row that holds the key of a body; VAULT_KEY for anything else. */
export function subjectKeyOf(bytes: Uint8Array, start = 0, end = bytes.length): number {
  if (end - start < HEADER_BYTES || bytes[start] !== SUBJECT_FORMAT) return VAULT_KEY
  const high = required(bytes[start + 1]) * 0x100 + required(bytes[start + 2])
  let low = 0
  for (let i = start + 3; i < start + HEADER_BYTES; i++) low = low * 0x100 + required(bytes[i])
  return high * 0x1_0000_0000 + low
}

/** Returns the key of each body; undefined if all are sealed with root keys. */
export function subjectKeysOf(bodies: Slab): Float64Array | undefined {
  let keys: Float64Array | undefined
  for (let i = 0; i < bodies.count; i++) {
    const key = subjectKeyOf(bodies.bytes, slabStart(bodies, i), required(bodies.ends[i]))
    if (key === VAULT_KEY) continue
    keys ??= new Float64Array(bodies.count)
    keys[i] = key
  }
  return keys
}

/** The keys of subjects, and the key of each body; VAULT_KEY for one that is sealed with the active root key. */
export interface SubjectSealing {
  readonly keyring: SubjectKeyring
  readonly keys: ArrayLike<number>
}

/** Returns one sealed body for each plaintext, in order, bound to the row id at the same index of `ids`. Throws `internal` for a key that is not held. */
export function sealSubjectBodies(
  ring: KeyRing,
  { keyring, keys }: SubjectSealing,
  address: Address,
  ids: readonly number[],
  plaintexts: Slab,
): Slab {
  return byKind(keys, { ids, slab: plaintexts }, (items, own) => {
    if (own === undefined) return sealBodies(ring, address, items.ids, items.slab)
    const headers = new Uint8Array(own.length * HEADER_BYTES)
    for (const [index, key] of own.entries()) writeHeader(headers, index * HEADER_BYTES, key)
    return keyring.seal(headers, own, items.slab, associatedDataOf(address, items.ids))
  })
}

/**
 * Returns the plaintext of each body, in order. `keys` is what `subjectKeysOf` returned for them; `openOthers` opens those that are sealed with root keys.
 */
export function openSubjectBodies(
  { keyring, keys }: SubjectSealing,
  address: Address,
  ids: readonly number[],
  bodies: Slab,
  openOthers: (ids: readonly number[], bodies: Slab) => Opened,
): Opened {
  const opened = new Uint8Array(bodies.count)
  const openOwn = (items: Items, own: Float64Array): Opened => {
    const associatedData = associatedDataOf(address, items.ids)
    const part = keyring.open(HEADER_BYTES, own, items.slab, associatedData)
    freeBytes(associatedData)
    return part
  }
  const plaintexts = byKind(keys, { ids, slab: bodies }, (items, own) => {
    const part = own === undefined ? openOthers(items.ids, items.slab) : openOwn(items, own)
    for (let i = 0; i < part.opened.length; i++) opened[items.indexes?.[i] ?? i] = required(part.opened[i])
    return part.plaintexts
  })
  return { plaintexts, opened }
}

/** Items of a list that are of one kind: all of them, or those at some indexes. */
interface Items {
  readonly indexes?: readonly number[]
  readonly ids: readonly number[]
  readonly slab: Slab
}

/** Does work with the items that root keys seal, and with those of subjects, whose keys it is given. Returns the results in the order of the items. */
function byKind(keys: ArrayLike<number>, all: Items, work: (items: Items, keys: Float64Array | undefined) => Slab): Slab {
  const { ids, slab } = all
  let ownCount = 0
  for (let i = 0; i < slab.count; i++) if (keys[i] !== VAULT_KEY) ownCount++
  if (ownCount === slab.count) return work(all, keys instanceof Float64Array ? keys : Float64Array.from(keys))
  if (ownCount === 0) return work(all, undefined)
  const own: number[] = []
  const others: number[] = []
  for (let i = 0; i < slab.count; i++) (keys[i] === VAULT_KEY ? others : own).push(i)
  const results: Uint8Array[] = new Array(slab.count)
  for (const indexes of [own, others]) {
    const part = toSlab(indexes.map((index) => slabItem(slab, index)))
    const items = { indexes, ids: indexes.map((index) => at(ids, index)), slab: part }
    const made = work(items, indexes === own ? Float64Array.from(own, (index) => at(keys, index)) : undefined)
    for (const [position, index] of indexes.entries()) results[index] = slabItem(made, position)
  }
  return toSlab(results)
}

function writeHeader(target: Uint8Array, start: number, key: number): void {
  target[start] = SUBJECT_FORMAT
  for (let i = HEADER_BYTES - 1, rest = key; i > 0; i--, rest = Math.floor(rest / 0x100)) target[start + i] = rest % 0x100
}

function associatedDataOf(address: Address, ids: readonly number[]): Uint8Array {
  return writeAssociatedData(
    address,
    ids,
    () => 0,
    () => SUBJECT_FORMAT,
  )
}
