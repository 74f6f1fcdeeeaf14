/** AES-256-GCM of short messages under one key: one AES call for the counter blocks of all, the rest in the module. */
import { at } from '../../core/util/at.ts'
import { type Slab, slabStart } from '../../core/util/slab.ts'
import { CAPACITY, getWasm, MAX_BATCH_ITEMS, REGION, type WasmModule } from './wasm.ts'
import { type GcmKey, HALF_BYTES, TAG_BYTES } from './xaes-key.ts'

/** Bytes by which any layout of one message in a region may exceed plaintext and prefix: IV, tag, padding, tag counter. */
const MESSAGE_ROOM = 64

/** Counter blocks up to which the module encrypts by itself: so many take it as long as a call of the platform's cipher. */
const MAX_FEW_BLOCKS = 8

/** Longest message the module takes, with its prefix. */
export const MAX_BYTES_IN_WASM = CAPACITY.large - MESSAGE_ROOM

/** Messages to seal: items of a slab, each under its own IV and with `contextBytes` of associated data in whole blocks. */
export interface SealBatch {
  readonly plaintexts: Slab
  readonly contexts: Uint8Array
  readonly contextBytes: number
  /** Stands in clear before each IV; at most CAPACITY.prefix bytes. */
  readonly prefix: Uint8Array
  /** Fills IVs, HALF_BYTES each. */
  readonly drawIvs: (target: Uint8Array, at: number, count: number) => void
  /** Where item i begins in `out`. */
  readonly startOf: (item: number) => number
  readonly out: Uint8Array
}

/** Bodies to open, laid out as sealing writes them: prefix, IV, ciphertext, tag. */
export interface OpenBatch {
  readonly bodies: Slab
  readonly contexts: Uint8Array
  readonly contextBytes: number
  readonly prefixBytes: number
  /** Where the plaintext of item i begins in `out`. */
  readonly starts: Uint32Array
  readonly out: Uint8Array
  /** Gets 1 where item i opened, else 0; its plaintext is then zeros. */
  readonly opened: Uint8Array
}

/** Seals items `from` to `to` (exclusive), cutting the list to the module's memory. */
export function sealBatch(key: GcmKey, batch: SealBatch, from: number, to: number): void {
  const module = getWasm()
  const { plaintexts, prefix } = batch
  useKey(module, key)
  module.memory.set(prefix, REGION.prefix)
  for (let start = from; start < to; ) {
    let end = start
    for (let room = CAPACITY.large; end < to && end - start < MAX_BATCH_ITEMS; end++) {
      const length = slabStart(plaintexts, end + 1) - slabStart(plaintexts, end)
      module.lengths[end - start] = length
      room -= length + prefix.length + MESSAGE_ROOM
      if (room < 0) break
    }
    sealChunk(module, key, batch, start, end)
    start = end
  }
  forgetKey(module)
}

function sealChunk(module: WasmModule, key: GcmKey, batch: SealBatch, from: number, to: number): void {
  const { calls, memory } = module
  const { plaintexts, contexts: associatedData, contextBytes, prefix } = batch
  const count = to - from
  const plainStart = slabStart(plaintexts, from)
  const plainEnd = slabStart(plaintexts, to)
  const stride = contextStride(contextBytes)
  memory.set(plaintexts.bytes.subarray(plainStart, plainEnd), REGION.input)
  memory.set(associatedData.subarray(from * stride, to * stride), REGION.contexts)
  batch.drawIvs(memory, REGION.ivs, count * HALF_BYTES)
  const streamBytes = calls.writeCounters(REGION.ivs, HALF_BYTES, 0, REGION.lengths, count, REGION.blocks)
  encryptBlocks(module, key, streamBytes)
  const end = calls.sealBodies(
    REGION.blocks,
    REGION.input,
    REGION.lengths,
    count,
    REGION.contexts,
    contextBytes,
    REGION.prefix,
    prefix.length,
    REGION.ivs,
    REGION.output,
  )
  batch.out.set(memory.subarray(REGION.output, end), batch.startOf(from))
  calls.wipe(REGION.input, plainEnd - plainStart)
  calls.wipe(REGION.blocks, streamBytes)
}

/** Opens the items named, cutting the list to the module's memory. Nothing is copied out before every tag of a cut is checked. */
export function openBatch(key: GcmKey, batch: OpenBatch, items: Uint32Array): void {
  const module = getWasm()
  const { bodies } = batch
  const overhead = batch.prefixBytes + HALF_BYTES + TAG_BYTES
  useKey(module, key)
  for (let start = 0; start < items.length; ) {
    let end = start
    for (let room = CAPACITY.large; end < items.length && end - start < MAX_BATCH_ITEMS; end++) {
      const item = at(items, end)
      const length = slabStart(bodies, item + 1) - slabStart(bodies, item)
      module.lengths[end - start] = length - overhead
      room -= length + MESSAGE_ROOM
      if (room < 0) break
    }
    openChunk(module, key, batch, items.subarray(start, end))
    start = end
  }
  forgetKey(module)
}

/** One body to open by itself. */
export interface SingleBody {
  /** Prefix, IV, ciphertext, tag, and nothing else. */
  readonly body: Uint8Array
  readonly prefixBytes: number
  /** Associated data in whole blocks, of which `contextBytes` count. */
  readonly context: Uint8Array
  readonly contextBytes: number
}

/** The plaintext of one body, or undefined when its tag is wrong: what `openBatch` does, without its lists. */
export function openSingle(key: GcmKey, { body, prefixBytes, context, contextBytes }: SingleBody): Uint8Array | undefined {
  const module = getWasm()
  const { calls, memory } = module
  const { input, lengths, contexts: associatedData, blocks, flags, output } = REGION
  const overhead = prefixBytes + HALF_BYTES + TAG_BYTES
  const length = body.length - overhead
  useKey(module, key)
  memory.set(body, input)
  memory.set(context, associatedData)
  module.lengths[0] = length
  const streamBytes = calls.writeCounters(input + prefixBytes, overhead, 1, lengths, 1, blocks)
  encryptBlocks(module, key, streamBytes)
  calls.openBodies(blocks, input, prefixBytes, lengths, 1, associatedData, contextBytes, flags, output)
  let plaintext: Uint8Array | undefined
  if (memory[flags] === 1) {
    plaintext = new Uint8Array(length)
    plaintext.set(memory.subarray(output, output + length))
  }
  calls.wipe(output, length + TAG_BYTES)
  calls.wipe(blocks, streamBytes)
  forgetKey(module)
  return plaintext
}

function openChunk(module: WasmModule, key: GcmKey, batch: OpenBatch, items: Uint32Array): void {
  const { calls, memory } = module
  const { contextBytes, prefixBytes, opened } = batch
  const count = items.length
  copyIn(module, batch, items)
  const stride = prefixBytes + HALF_BYTES + TAG_BYTES
  const streamBytes = calls.writeCounters(REGION.input + prefixBytes, stride, 1, REGION.lengths, count, REGION.blocks)
  encryptBlocks(module, key, streamBytes)
  calls.openBodies(
    REGION.blocks,
    REGION.input,
    prefixBytes,
    REGION.lengths,
    count,
    REGION.contexts,
    contextBytes,
    REGION.flags,
    REGION.output,
  )
  const plainBytes = copyOut(module, batch, items)
  for (let i = 0; i < count; i++) opened[at(items, i)] = at(memory, REGION.flags + i)
  calls.wipe(REGION.output, plainBytes + TAG_BYTES)
  calls.wipe(REGION.blocks, streamBytes)
}

/** Index after the last item of the run of neighbours that begins at `from`: neighbours travel in one copy. */
function runEnd(items: Uint32Array, from: number): number {
  let end = from + 1
  while (end < items.length && items[end] === at(items, end - 1) + 1) end++
  return end
}

function copyIn(module: WasmModule, batch: OpenBatch, items: Uint32Array): void {
  const { bodies, contexts: associatedData } = batch
  const stride = contextStride(batch.contextBytes)
  let offset: number = REGION.input
  for (let from = 0; from < items.length; ) {
    const to = runEnd(items, from)
    const first = at(items, from)
    const after = first + to - from
    const bytes = bodies.bytes.subarray(slabStart(bodies, first), slabStart(bodies, after))
    module.memory.set(bytes, offset)
    module.memory.set(associatedData.subarray(first * stride, after * stride), REGION.contexts + from * stride)
    offset += bytes.length
    from = to
  }
}

/** Copies plaintexts to their places; returns how many bytes they had. */
function copyOut(module: WasmModule, batch: OpenBatch, items: Uint32Array): number {
  let offset: number = REGION.output
  for (let from = 0; from < items.length; ) {
    const to = runEnd(items, from)
    let bytes = 0
    for (let i = from; i < to; i++) bytes += at(module.lengths, i)
    batch.out.set(module.memory.subarray(offset, offset + bytes), batch.starts[at(items, from)])
    offset += bytes
    from = to
  }
  return offset - REGION.output
}

/** Replaces the blocks region by its encryption; the copy the platform made is wiped. */
function encryptBlocks(module: WasmModule, key: GcmKey, bytes: number): void {
  if (bytes <= MAX_FEW_BLOCKS * 16) {
    module.memory.set(key.schedule, REGION.schedule)
    module.calls.encryptBlocks(REGION.schedule, REGION.blocks, bytes / 16)
    module.calls.wipe(REGION.schedule, key.schedule.length)
    return
  }
  const stream = key.cipher.update(module.memory.subarray(REGION.blocks, REGION.blocks + bytes))
  module.memory.set(stream, REGION.blocks)
  stream.fill(0)
}

function useKey(module: WasmModule, key: GcmKey): void {
  module.memory.set(key.hashKey, REGION.hashKey)
  module.calls.useHashKey(REGION.hashKey)
}

function forgetKey(module: WasmModule): void {
  module.calls.wipe(REGION.hashKey, 16)
  module.calls.forgetHashKey()
}

/** Bytes from one context to the next: whole blocks. */
function contextStride(contextBytes: number): number {
  return (contextBytes + 15) & ~15
}
