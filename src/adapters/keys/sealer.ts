/** Seals and opens for one purpose, by XAES-256-GCM: short items in batches in the module, if there is one, others with the platform's cipher. */
import { VaultError } from '../../core/errors.ts'
import { AAD_BYTES, type Opened, SHORT_FORM } from '../../core/ports/crypto.ts'
import { required } from '../../core/util/lists.ts'
import { fewBytes, fewNumbers, plaintextBytes, type Slab, slabItem, slabStart } from '../../core/util/memory.ts'
import type { NonceSource } from './nonces.ts'
import { openPlain, sealPlain } from './platform/aes.ts'
import { type OpenBatch, openBatch, openSingle, sealBatch } from './wasm/gcm.ts'
import { CAPACITY } from './wasm/wasm.ts'
import { type Epochs, type GcmKey, HALF_BYTES, SHORT_HALF_BYTES, TAG_BYTES, type XaesKey } from './xaes-key.ts'

/** Keys by number: the version of a root key, or the row of the key of a subject. */
export interface NumberedKeys {
  /** Returns a key; undefined if it is unknown. */
  readonly keyOf: (version: number) => XaesKey | undefined
  /** As in `Primitives`. */
  readonly maxBatchedBytes: number
}

/** The keys and random bytes of a sealer. */
interface SealerKeys extends NumberedKeys {
  /** The epochs of the newest key. */
  readonly epochs: () => Epochs
  readonly nonces: NonceSource
}

/** The number of the key of each body. Row ids have 48 bits. */
type KeyNumbers = Uint16Array | Float64Array

/** `seal` and `open` of the key ring, for one purpose. Throws `internal` for lists whose lengths do not fit. */
export interface Sealer {
  seal(header: Uint8Array, plaintexts: Slab, associatedData: Uint8Array): Slab
  open(headerBytes: number, versions: Uint16Array, bodies: Slab, associatedData: Uint8Array): Opened
}

/** Returns the sealer of one purpose. */
export function createSealer(keys: SealerKeys): Sealer {
  return {
    seal: (header, plaintexts, associatedData) => seal(keys, header, plaintexts, associatedData),
    open: (headerBytes, versions, bodies, associatedData) => openWith(keys, headerBytes, versions, bodies, associatedData),
  }
}

/** `open` of a sealer. */
export function openWith(
  keys: NumberedKeys,
  headerBytes: number,
  versions: KeyNumbers,
  bodies: Slab,
  associatedData: Uint8Array,
): Opened {
  assertAssociatedData(bodies.count, associatedData)
  if (versions.length !== bodies.count) throw new VaultError('internal', 'Opening needs one key version for each body.')
  if (bodies.count === 1) return openOne(keys, headerBytes, required(versions[0]), bodies, associatedData)
  return open(keys, headerBytes, versions, bodies, associatedData)
}

function seal(keys: SealerKeys, header: Uint8Array, plaintexts: Slab, associatedData: Uint8Array): Slab {
  const { count } = plaintexts
  assertAssociatedData(count, associatedData)
  // Drawn within the call that has the plaintexts: a copy of the process made after this line seals the same plaintexts again, to the
  // same bodies.
  keys.nonces.renew()
  const halfBytes = sealedHalfBytes(header)
  const { half, key } = keys.epochs().next(count, halfBytes)
  const batch = beginBatch(keys, header.length + halfBytes, plaintexts, associatedData)
  batch.prefix.set(header)
  batch.prefix.set(half.subarray(0, halfBytes), header.length)
  sealItems(key, batch, 0, count)
  return sealedSlab(batch)
}

/** Bodies to seal by keys of their own. */
interface BodiesOfKeys {
  /** The header of each, one after the other, all of one length. */
  readonly headers: Uint8Array
  /** The number of the key of each. */
  readonly versions: Float64Array
  readonly plaintexts: Slab
  readonly associatedData: Uint8Array
}

/**
 * Seals each plaintext by the key of its number, with a whole nonce: its first half is one for the call, and derives another key from each. Throws
 * `internal` for a key that is unknown.
 */
export function sealWith(
  keys: NumberedKeys & Pick<SealerKeys, 'nonces'>,
  { headers, versions, plaintexts, associatedData }: BodiesOfKeys,
): Slab {
  const { count } = plaintexts
  assertAssociatedData(count, associatedData)
  keys.nonces.renew()
  const half = new Uint8Array(HALF_BYTES)
  keys.nonces.fill(half, 0, HALF_BYTES)
  const headerBytes = count === 0 ? 0 : headers.length / count
  const batch = beginBatch(keys, headerBytes + HALF_BYTES, plaintexts, associatedData)
  batch.prefix.set(half, headerBytes)
  for (let item = 0; item < count; ) {
    const version = required(versions[item])
    const key = keys.keyOf(version)
    if (key === undefined)
      throw new VaultError('internal', 'The key of a subject is missing. This is a defect; please report it.')
    let end = item + 1
    while (end < count && versions[end] === version) end++
    batch.prefix.set(headers.subarray(item * headerBytes, (item + 1) * headerBytes))
    sealItems(key.derive(half, 0), batch, item, end)
    item = end
  }
  return sealedSlab(batch)
}

/** Plaintexts to seal, and the memory for the bodies. */
type Sealing = Parameters<typeof sealBatch>[1] & { readonly max: number }

function beginBatch(
  { nonces, maxBatchedBytes }: Pick<SealerKeys, 'nonces' | 'maxBatchedBytes'>,
  prefixBytes: number,
  plaintexts: Slab,
  associatedData: Uint8Array,
): Sealing {
  const overhead = prefixBytes + HALF_BYTES + TAG_BYTES
  const startOf = (item: number): number => slabStart(plaintexts, item) + item * overhead
  return {
    plaintexts,
    associatedData,
    aadBytes: AAD_BYTES,
    prefix: new Uint8Array(prefixBytes),
    drawIvs: nonces.fill,
    startOf,
    out: fewBytes(startOf(plaintexts.count)),
    max: prefixBytes > CAPACITY.prefix ? -1 : maxBatchedBytes,
  }
}

/** Seals the items from `from` to `to` (exclusive) with one key and one prefix. */
function sealItems(key: GcmKey, batch: Sealing, from: number, to: number): void {
  const { plaintexts, associatedData, prefix, startOf, out, drawIvs, max } = batch
  for (let item = from; item < to; ) {
    const end = shortRun(plaintexts, { from: item, to, max })
    if (end > item) {
      sealBatch(key, batch, item, end)
      item = end
      continue
    }
    const offset = startOf(item)
    const ivStart = offset + prefix.length
    out.set(prefix, offset)
    drawIvs(out, ivStart, HALF_BYTES)
    const plaintext = slabItem(plaintexts, item)
    sealPlain(
      key,
      out.subarray(ivStart, ivStart + HALF_BYTES),
      plaintext,
      associatedDataOf(associatedData, item),
      out,
      ivStart + HALF_BYTES,
    )
    item++
  }
}

function sealedSlab({ plaintexts: { count }, startOf, out }: Sealing): Slab {
  const ends = fewNumbers(count)
  for (let i = 0; i < count; i++) ends[i] = startOf(i + 1)
  return { bytes: out, ends, count }
}

/** Returns the number of bytes that bodies with this header store of the first half of their nonces. */
function sealedHalfBytes(header: Uint8Array): number {
  const [first = SHORT_FORM] = header
  if ((first & SHORT_FORM) === 0) return HALF_BYTES
  if (header.length === 1) return SHORT_HALF_BYTES
  throw new VaultError('internal', 'A body needs a header, and that of the short form has one byte.')
}

/** Returns the index after the last of the neighboring items from `from` with at most `max` bytes; `to` at most, because each of many keys has a list of its own. */
function shortRun(items: Slab, { from, to, max }: { readonly from: number; readonly to: number; readonly max: number }): number {
  let end = from
  while (end < to && slabStart(items, end + 1) - slabStart(items, end) <= max) end++
  return end
}

/** Opens a single body, without the groups that a longer list needs. */
function openOne(keys: NumberedKeys, headerBytes: number, version: number, bodies: Slab, associatedData: Uint8Array): Opened {
  const end = required(bodies.ends[0])
  const isShort = isShortForm(bodies.bytes, 0, end)
  const header = isShort ? 1 : headerBytes
  const prefixBytes = header + (isShort ? SHORT_HALF_BYTES : HALF_BYTES)
  const length = end - prefixBytes - HALF_BYTES - TAG_BYTES
  const key = length < 0 ? undefined : keys.keyOf(version)?.derive(bodies.bytes, header, prefixBytes - header)
  let plaintext: Uint8Array | undefined
  if (key !== undefined) {
    const body = end === bodies.bytes.length ? bodies.bytes : bodies.bytes.subarray(0, end)
    if (isBatched(keys, length, prefixBytes)) {
      const target = plaintextBytes(length)
      if (openSingle(key, { body, prefixBytes, associatedData, aadBytes: AAD_BYTES }, target, 0)) plaintext = target
    } else plaintext = toPlainArray(openPlain(key, body.subarray(prefixBytes), associatedData))
  }
  const bytes = plaintext ?? new Uint8Array(0)
  const opened = new Uint8Array(1)
  const ends = fewNumbers(1)
  if (plaintext !== undefined) opened[0] = 1
  ends[0] = bytes.length
  return { plaintexts: { bytes, ends, count: 1 }, opened }
}

/** Returns the bytes as a plain array: the port does not return a Buffer, because `slice` of a Buffer is a view. */
function toPlainArray(bytes: Uint8Array | undefined): Uint8Array | undefined {
  return bytes && new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** True if the module opens a body with `length` bytes of plaintext. */
function isBatched({ maxBatchedBytes }: NumberedKeys, length: number, prefixBytes: number): boolean {
  return length <= maxBatchedBytes && prefixBytes <= CAPACITY.prefix
}

/** True if a body has a header of one byte, and the short form of the nonce. */
function isShortForm(bytes: Uint8Array, start: number, end: number): boolean {
  return start < end && (required(bytes[start]) & SHORT_FORM) !== 0
}

/** The indexes of the bodies of one call that have one derived key and one form. The key is derived when the group is opened. */
interface Group {
  readonly key: XaesKey
  /** Offset of the half nonce of its first body. */
  readonly half: number
  /** Length of the header, and of what is before the second half of the nonce. */
  readonly headerBytes: number
  readonly prefixBytes: number
  readonly short: number[]
  readonly long: number[]
}

function open(keys: NumberedKeys, headerBytes: number, versions: KeyNumbers, bodies: Slab, associatedData: Uint8Array): Opened {
  const { count } = bodies
  const starts = fewNumbers(count + 1)
  const groups = groupByKey(keys, headerBytes, versions, bodies, starts)
  const out = plaintextBytes(required(starts[count]))
  const opened = fewBytes(count)
  for (const { key, half, prefixBytes, headerBytes: header, short, long } of groups) {
    const batch: OpenBatch = { bodies, associatedData, aadBytes: AAD_BYTES, prefixBytes, starts, out, opened }
    const derived = key.derive(bodies.bytes, half, prefixBytes - header)
    const [first] = short
    if (first !== undefined && short.length === 1) openSingleItem(derived, batch, first)
    else if (first !== undefined) openBatch(derived, batch, short)
    for (const item of long) openLongItem(derived, batch, item)
  }
  return { plaintexts: withoutFailed(out, starts, opened), opened }
}

/** Opens one item of a list in the module, by itself. */
function openSingleItem(key: GcmKey, batch: OpenBatch, item: number): void {
  const { bodies, prefixBytes, aadBytes, out, starts } = batch
  const associatedData = associatedDataOf(batch.associatedData, item)
  const body = { body: slabItem(bodies, item), prefixBytes, associatedData, aadBytes }
  if (openSingle(key, body, out, required(starts[item]))) batch.opened[item] = 1
}

function openLongItem(key: GcmKey, { bodies, prefixBytes, associatedData, out, starts, opened }: OpenBatch, item: number): void {
  const body = slabItem(bodies, item).subarray(prefixBytes)
  const plaintext = openPlain(key, body, associatedDataOf(associatedData, item))
  if (plaintext === undefined) return
  out.set(plaintext, required(starts[item]))
  opened[item] = 1
}

/**
 * Returns the bodies grouped by derived key, so that each key is derived once however many there are, and fills `starts` with the
 * offset of each plaintext. A body that is too short, or whose version is unknown, is in no group and has an empty plaintext.
 */
function groupByKey(
  keys: NumberedKeys,
  headerBytes: number,
  versions: KeyNumbers,
  bodies: Slab,
  starts: Uint32Array,
): Iterable<Group> {
  const { bytes, ends, count } = bodies
  const groups: Groups = { firsts: new Map(), others: new Map() }
  let group: Group | undefined
  let start = 0
  let plainEnd = 0
  for (let i = 0; i < count; i++) {
    const end = required(ends[i])
    const isShort = isShortForm(bytes, start, end)
    const header = isShort ? 1 : headerBytes
    const prefixBytes = header + (isShort ? SHORT_HALF_BYTES : HALF_BYTES)
    const half = start + header
    const length = end - start - prefixBytes - HALF_BYTES - TAG_BYTES
    start = end
    const key = length < 0 ? undefined : keys.keyOf(required(versions[i]))
    if (key !== undefined) {
      plainEnd += length
      if (group?.key !== key || !isOfGroup(group, bytes, half, prefixBytes))
        group = groupFor(
          groups,
          bytes,
          { key, half, headerBytes: header, prefixBytes, short: [], long: [] },
          required(versions[i]),
        )
      if (isBatched(keys, length, prefixBytes)) group.short.push(i)
      else group.long.push(i)
    }
    starts[i + 1] = plainEnd
  }
  return [...groups.firsts.values(), ...groups.others.values()]
}

/** Most keys have one group, as each of those of people has: only others are looked for by text. */
interface Groups {
  readonly firsts: Map<XaesKey, Group>
  readonly others: Map<string, Group>
}

/** Returns the group of a body. `fresh` is one with its key and its half nonce, which is added if there is none. */
function groupFor({ firsts, others }: Groups, bytes: Uint8Array, fresh: Group, version: number): Group {
  const { key, half, headerBytes, prefixBytes } = fresh
  const first = firsts.get(key)
  if (first === undefined) {
    firsts.set(key, fresh)
    return fresh
  }
  if (isOfGroup(first, bytes, half, prefixBytes)) return first
  const name = `${version}/${halfText(bytes, half, prefixBytes - headerBytes)}`
  const group = others.get(name) ?? fresh
  others.set(name, group)
  return group
}

/** True if a body of the key of a group has its form and its half nonce. */
function isOfGroup(group: Group, bytes: Uint8Array, half: number, prefixBytes: number): boolean {
  return group.prefixBytes === prefixBytes && isSameHalf(bytes, group.half, half, prefixBytes - group.headerBytes)
}

/** True if the stored bytes of the half nonces at two offsets are equal. */
function isSameHalf(bytes: Uint8Array, one: number, other: number, halfBytes: number): boolean {
  for (let i = 0; i < halfBytes; i++) if (bytes[one + i] !== bytes[other + i]) return false
  return true
}

/** Bytes for converting one half nonce to text. Holds nothing between calls. */
const SCRATCH = Buffer.alloc(HALF_BYTES)

/** Returns the stored bytes of the half nonce at an offset as text, one unit for each: those of the two forms differ in length. */
function halfText(bytes: Uint8Array, offset: number, halfBytes: number): string {
  for (let i = 0; i < halfBytes; i++) SCRATCH[i] = required(bytes[offset + i])
  return SCRATCH.toString('latin1', 0, halfBytes)
}

/** Returns the plaintexts as a slab, with an empty plaintext for each body that did not open. */
function withoutFailed(out: Uint8Array, starts: Uint32Array, opened: Uint8Array): Slab {
  const count = opened.length
  const ends = starts.subarray(1)
  if (!opened.includes(0)) return { bytes: out, ends, count }
  let start = 0
  let end = 0
  for (let i = 0; i < count; i++) {
    const after = required(ends[i])
    if (opened[i] === 1) {
      out.copyWithin(end, start, after)
      end += after - start
    }
    ends[i] = end
    start = after
  }
  out.fill(0, end)
  return { bytes: out.subarray(0, end), ends, count }
}

function associatedDataOf(associatedData: Uint8Array, item: number): Uint8Array {
  return associatedData.subarray(item * AAD_BYTES, (item + 1) * AAD_BYTES)
}

function assertAssociatedData(count: number, associatedData: Uint8Array): void {
  if (associatedData.length === count * AAD_BYTES) return
  throw new VaultError('internal', `Sealing and opening need ${AAD_BYTES} bytes of associated data for each item.`)
}
