/** Sealing and opening for one purpose: XAES-256-GCM, many at once in the module, long ones by the platform's cipher. */

import { VaultError } from '../../core/errors.ts'
import { AAD_BYTES, type Opened } from '../../core/ports/keys.ts'
import { at } from '../../core/util/at.ts'
import { type Slab, slabStart } from '../../core/util/slab.ts'
import type { Epoch } from './epoch.ts'
import { type OpenBatch, openBatch, openSingle, sealBatch } from './gcm-batch.ts'
import { openPlain, sealPlain } from './gcm-plain.ts'
import type { RandomPool } from './random-pool.ts'
import { CAPACITY } from './wasm.ts'
import { type GcmKey, HALF_BYTES, NONCE_BYTES, TAG_BYTES, type XaesKey } from './xaes-key.ts'

/** Plaintexts longer than this are sealed one by one: beyond it AES and GHASH in hardware outweigh the cost of a call. */
export const MAX_BATCHED_BYTES = 1024

/** What a sealer works with. */
export interface SealerKeys {
  readonly nextEpoch: (count: number) => Epoch
  readonly keyOf: (version: number) => XaesKey | undefined
  readonly pool: RandomPool
}

/** The two verbs of the key ring, for one purpose. */
export interface Sealer {
  seal(header: Uint8Array, plaintexts: Slab, associatedData: Uint8Array): Slab
  open(headerBytes: number, versions: Uint16Array, bodies: Slab, associatedData: Uint8Array): Opened
}

/** A sealer over the keys of one purpose. */
export function createSealer(keys: SealerKeys): Sealer {
  return {
    seal: (header, plaintexts, associatedData) => seal(keys, header, plaintexts, associatedData),
    open(headerBytes, versions, bodies, associatedData) {
      assertContexts(bodies.count, associatedData)
      if (versions.length !== bodies.count) throw new VaultError('internal', 'Opening needs one key version for each body.')
      if (bodies.count === 1) return openOne(keys, headerBytes, at(versions, 0), bodies, associatedData)
      return open(keys, headerBytes, versions, bodies, associatedData)
    },
  }
}

function seal(keys: SealerKeys, header: Uint8Array, plaintexts: Slab, associatedData: Uint8Array): Slab {
  const { count } = plaintexts
  assertContexts(count, associatedData)
  const { half, key } = keys.nextEpoch(count)
  const prefix = new Uint8Array(header.length + HALF_BYTES)
  prefix.set(header)
  prefix.set(half, header.length)
  const overhead = header.length + NONCE_BYTES + TAG_BYTES
  const startOf = (item: number): number => slabStart(plaintexts, item) + item * overhead
  const out = new Uint8Array(startOf(count))
  const drawIvs = keys.pool.fill
  const batch = { plaintexts, contexts: associatedData, contextBytes: AAD_BYTES, prefix, drawIvs, startOf, out }
  const longest = prefix.length > CAPACITY.prefix ? -1 : MAX_BATCHED_BYTES
  for (let item = 0; item < count; ) {
    const end = shortRun(plaintexts, item, longest)
    if (end > item) {
      sealBatch(key, batch, item, end)
      item = end
      continue
    }
    const offset = startOf(item)
    const ivAt = offset + prefix.length
    out.set(prefix, offset)
    drawIvs(out, ivAt, HALF_BYTES)
    const plaintext = plaintexts.bytes.subarray(slabStart(plaintexts, item), slabStart(plaintexts, item + 1))
    sealPlain(key, out.subarray(ivAt, ivAt + HALF_BYTES), plaintext, contextOf(associatedData, item), out, ivAt + HALF_BYTES)
    item++
  }
  const ends = new Uint32Array(count)
  for (let i = 0; i < count; i++) ends[i] = startOf(i + 1)
  return { bytes: out, ends, count }
}

/** Index after the last of the neighbours from `from` on that are no longer than `longest`. */
function shortRun(items: Slab, from: number, longest: number): number {
  let end = from
  while (end < items.count && slabStart(items, end + 1) - slabStart(items, end) <= longest) end++
  return end
}

/** Opens a list of one, without the groups and positions of a longer list. */
function openOne(keys: SealerKeys, headerBytes: number, version: number, bodies: Slab, associatedData: Uint8Array): Opened {
  const end = at(bodies.ends, 0)
  const length = end - headerBytes - NONCE_BYTES - TAG_BYTES
  const key = length < 0 ? undefined : keys.keyOf(version)?.derive(bodies.bytes, headerBytes)
  let plaintext: Uint8Array | undefined
  if (key !== undefined) {
    const body = end === bodies.bytes.length ? bodies.bytes : bodies.bytes.subarray(0, end)
    const prefixBytes = headerBytes + HALF_BYTES
    if (isShort(length, headerBytes))
      plaintext = openSingle(key, { body, prefixBytes, context: associatedData, contextBytes: AAD_BYTES })
    else plaintext = toPlainArray(openPlain(key, body.subarray(prefixBytes), associatedData))
  }
  const bytes = plaintext ?? new Uint8Array(0)
  const opened = new Uint8Array(1)
  const ends = new Uint32Array(1)
  if (plaintext !== undefined) opened[0] = 1
  ends[0] = bytes.length
  return { plaintexts: { bytes, ends, count: 1 }, opened }
}

/** The same bytes no longer as a Buffer, whose slices are views: the port promises a plain array. */
function toPlainArray(bytes: Uint8Array | undefined): Uint8Array | undefined {
  return bytes && new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** True where the WebAssembly module opens a body with so much plaintext. */
function isShort(length: number, headerBytes: number): boolean {
  return length <= MAX_BATCHED_BYTES && headerBytes <= CAPACITY.prefix
}

/** Bodies of one call that open under one derived key. */
interface Group {
  readonly key: GcmKey
  readonly short: number[]
  readonly long: number[]
}

function open(keys: SealerKeys, headerBytes: number, versions: Uint16Array, bodies: Slab, associatedData: Uint8Array): Opened {
  const { count } = bodies
  const starts = new Uint32Array(count + 1)
  const groups = groupByKey(keys, headerBytes, versions, bodies, starts)
  const out = new Uint8Array(at(starts, count))
  const opened = new Uint8Array(count)
  const prefixBytes = headerBytes + HALF_BYTES
  const batch: OpenBatch = { bodies, contexts: associatedData, contextBytes: AAD_BYTES, prefixBytes, starts, out, opened }
  for (const group of groups) {
    openBatch(group.key, batch, new Uint32Array(group.short))
    for (const item of group.long) {
      const body = bodies.bytes.subarray(slabStart(bodies, item) + prefixBytes, bodies.ends[item])
      const plaintext = openPlain(group.key, body, contextOf(associatedData, item))
      if (plaintext === undefined) continue
      out.set(plaintext, starts[item])
      opened[item] = 1
    }
  }
  return { plaintexts: withoutFailed(out, starts, opened), opened }
}

/**
 * Sorts bodies by derived key and writes into `starts` where each plaintext will lie. A body that is too short, or whose version
 * is unknown, is in no group and has no room.
 */
function groupByKey(
  keys: SealerKeys,
  headerBytes: number,
  versions: Uint16Array,
  bodies: Slab,
  starts: Uint32Array,
): Iterable<Group> {
  const overhead = headerBytes + NONCE_BYTES + TAG_BYTES
  const groups = new Map<GcmKey, Group>()
  let group: Group | undefined
  let version = -1
  let key: XaesKey | undefined
  for (let i = 0; i < bodies.count; i++) {
    const offset = slabStart(bodies, i)
    const length = slabStart(bodies, i + 1) - offset - overhead
    if (versions[i] !== version) {
      version = at(versions, i)
      key = keys.keyOf(version)
    }
    starts[i + 1] = at(starts, i)
    if (key === undefined || length < 0) continue
    starts[i + 1] = at(starts, i) + length
    const derived = key.derive(bodies.bytes, offset + headerBytes)
    if (group === undefined || group.key !== derived) {
      group = groups.get(derived) ?? { key: derived, short: [], long: [] }
      groups.set(derived, group)
    }
    if (isShort(length, headerBytes)) group.short.push(i)
    else group.long.push(i)
  }
  return groups.values()
}

/** The plaintexts as a slab in which what did not open has no bytes. */
function withoutFailed(out: Uint8Array, starts: Uint32Array, opened: Uint8Array): Slab {
  const count = opened.length
  const ends = starts.slice(1)
  if (!opened.includes(0)) return { bytes: out, ends, count }
  let end = 0
  for (let i = 0; i < count; i++) {
    const start = at(starts, i)
    const after = at(starts, i + 1)
    if (opened[i] === 1) {
      out.copyWithin(end, start, after)
      end += after - start
    }
    ends[i] = end
  }
  out.fill(0, end)
  return { bytes: out.subarray(0, end), ends, count }
}

function contextOf(associatedData: Uint8Array, item: number): Uint8Array {
  return associatedData.subarray(item * AAD_BYTES, (item + 1) * AAD_BYTES)
}

function assertContexts(count: number, associatedData: Uint8Array): void {
  if (associatedData.length === count * AAD_BYTES) return
  throw new VaultError('internal', `Sealing and opening need ${AAD_BYTES} bytes of context for each item.`)
}
