/** AES-256-GCM of many short messages with one key in the module, by one AES call for all. */
import { required } from '../../../core/util/lists.ts'
import { freeBytes, type Slab, slabStart } from '../../../core/util/memory.ts'
import { createBlockCipher } from '../platform/aes.ts'
import { type BlockCipher, type GcmKey, HALF_BYTES, TAG_BYTES } from '../xaes-key.ts'
import { CAPACITY, getWasm, HASH_TABLE_BYTES, MAX_BATCH_ITEMS, MODULE_BLOCKS, REGION, type WasmModule } from './wasm.ts'

/** Maximum number of bytes that a message needs in a region besides plaintext and prefix: IV, tag, padding, tag counter. */
const MESSAGE_ROOM = 64

/** Number of blocks that the module encrypts in the time that creating a cipher of the platform takes. A key that was used less has none. */
const BLOCKS_PER_CIPHER = 200

/** Messages to seal. Each has its own IV and `aadBytes` of associated data, padded to whole blocks. */
interface SealBatch {
  readonly plaintexts: Slab
  readonly associatedData: Uint8Array
  readonly aadBytes: number
  /** Plaintext bytes before each IV; at most CAPACITY.prefix. */
  readonly prefix: Uint8Array
  /** Fills `count` bytes of `target` from `offset` with random IVs, HALF_BYTES each. */
  readonly drawIvs: (target: Uint8Array, offset: number, count: number) => void
  /** Returns the offset of an item in `out`. */
  readonly startOf: (item: number) => number
  readonly out: Uint8Array
}

/** Bodies to open. Layout: prefix, IV, ciphertext, tag. */
export interface OpenBatch {
  readonly bodies: Slab
  readonly associatedData: Uint8Array
  readonly aadBytes: number
  readonly prefixBytes: number
  /** Offset in `out` of the plaintext of each item. */
  readonly starts: Uint32Array
  readonly out: Uint8Array
  /** Receives 1 for each item that opened, else 0. The plaintext of an item that did not open is zeros. */
  readonly opened: Uint8Array
}

/** Seals items `from` to `to` (exclusive), in chunks that fit into the memory of the module. */
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
  const { plaintexts, associatedData, aadBytes, prefix } = batch
  const count = to - from
  const plainStart = slabStart(plaintexts, from)
  const plainEnd = slabStart(plaintexts, to)
  const stride = aadStride(aadBytes)
  memory.set(plaintexts.bytes.subarray(plainStart, plainEnd), REGION.input)
  const isWhole = count * stride === associatedData.length
  memory.set(isWhole ? associatedData : associatedData.subarray(from * stride, to * stride), REGION.associatedData)
  batch.drawIvs(memory, REGION.ivs, count * HALF_BYTES)
  const streamBytes = calls.writeCounters(REGION.ivs, HALF_BYTES, 0, REGION.lengths, count, REGION.blocks)
  encryptBlocks(module, key, streamBytes)
  const end = calls.sealBodies(
    REGION.hashTables,
    REGION.blocks,
    REGION.input,
    REGION.lengths,
    count,
    REGION.associatedData,
    aadBytes,
    REGION.prefix,
    prefix.length,
    REGION.ivs,
    REGION.output,
  )
  batch.out.set(memory.subarray(REGION.output, end), batch.startOf(from))
  calls.wipe(REGION.input, plainEnd - plainStart)
  calls.wipe(REGION.blocks, streamBytes)
}

/** Opens items, in chunks that fit into the memory of the module. Copies plaintexts out only after all tags of a chunk were checked. */
export function openBatch(key: GcmKey, batch: OpenBatch, items: readonly number[]): void {
  const module = getWasm()
  const { bodies } = batch
  const overhead = batch.prefixBytes + HALF_BYTES + TAG_BYTES
  useKey(module, key)
  for (let start = 0; start < items.length; ) {
    let end = start
    for (let room = CAPACITY.large; end < items.length && end - start < MAX_BATCH_ITEMS; end++) {
      const item = required(items[end])
      const length = required(bodies.ends[item]) - slabStart(bodies, item)
      module.lengths[end - start] = length - overhead
      room -= length + MESSAGE_ROOM
      if (room < 0) break
    }
    openChunk(module, key, batch, end - start === items.length ? items : items.slice(start, end))
    start = end
  }
  forgetKey(module)
}

/** One body to open. */
interface SingleBody {
  /** Prefix, IV, ciphertext and tag. */
  readonly body: Uint8Array
  readonly prefixBytes: number
  /** Associated data of `aadBytes` bytes, padded to whole blocks. */
  readonly associatedData: Uint8Array
  readonly aadBytes: number
}

/** Writes the plaintext of one body to `out`, at `start`. Returns false, with nothing written, if its tag is wrong. Faster than `openBatch` for one body. */
export function openSingle(
  key: GcmKey,
  { body, prefixBytes, associatedData, aadBytes }: SingleBody,
  out: Uint8Array,
  start: number,
): boolean {
  const module = getWasm()
  const { calls, memory } = module
  const { input, lengths, blocks, flags, output } = REGION
  const overhead = prefixBytes + HALF_BYTES + TAG_BYTES
  const length = body.length - overhead
  useKey(module, key)
  memory.set(body, input)
  memory.set(associatedData, REGION.associatedData)
  module.lengths[0] = length
  const streamBytes = calls.writeCounters(input + prefixBytes, overhead, 1, lengths, 1, blocks)
  encryptBlocks(module, key, streamBytes)
  calls.openBodies(REGION.hashTables, blocks, input, prefixBytes, lengths, 1, REGION.associatedData, aadBytes, flags, output)
  const isOpened = memory[flags] === 1
  if (isOpened) out.set(memory.subarray(output, output + length), start)
  calls.wipe(output, length + TAG_BYTES)
  calls.wipe(blocks, streamBytes)
  forgetKey(module)
  return isOpened
}

function openChunk(module: WasmModule, key: GcmKey, batch: OpenBatch, items: readonly number[]): void {
  const { calls } = module
  const { aadBytes, prefixBytes } = batch
  const count = items.length
  copyIn(module, batch, items)
  const stride = prefixBytes + HALF_BYTES + TAG_BYTES
  const streamBytes = calls.writeCounters(REGION.input + prefixBytes, stride, 1, REGION.lengths, count, REGION.blocks)
  encryptBlocks(module, key, streamBytes)
  calls.openBodies(
    REGION.hashTables,
    REGION.blocks,
    REGION.input,
    prefixBytes,
    REGION.lengths,
    count,
    REGION.associatedData,
    aadBytes,
    REGION.flags,
    REGION.output,
  )
  const plainBytes = copyOut(module, batch, items)
  calls.wipe(REGION.output, plainBytes + TAG_BYTES)
  calls.wipe(REGION.blocks, streamBytes)
}

/** Returns the index after the last of the neighboring items from `from`. Neighbors are copied at once. */
function runEnd(items: readonly number[], from: number): number {
  let end = from + 1
  while (end < items.length && items[end] === required(items[end - 1]) + 1) end++
  return end
}

function copyIn(module: WasmModule, batch: OpenBatch, items: readonly number[]): void {
  const { bodies, associatedData } = batch
  const stride = aadStride(batch.aadBytes)
  let offset: number = REGION.input
  for (let from = 0; from < items.length; ) {
    const to = runEnd(items, from)
    const first = required(items[from])
    const after = first + to - from
    const bytes = bodies.bytes.subarray(slabStart(bodies, first), slabStart(bodies, after))
    module.memory.set(bytes, offset)
    module.memory.set(associatedData.subarray(first * stride, after * stride), REGION.associatedData + from * stride)
    offset += bytes.length
    from = to
  }
}

/** Copies plaintexts to `out`, and which of them opened. Returns the number of bytes. */
function copyOut(module: WasmModule, batch: OpenBatch, items: readonly number[]): number {
  let offset: number = REGION.output
  for (let from = 0; from < items.length; ) {
    const to = runEnd(items, from)
    const first = required(items[from])
    const start = required(batch.starts[first])
    const bytes = required(batch.starts[first + to - from]) - start
    batch.out.set(module.memory.subarray(offset, offset + bytes), start)
    batch.opened.set(module.memory.subarray(REGION.flags + from, REGION.flags + to), first)
    offset += bytes
    from = to
  }
  return offset - REGION.output
}

/** Encrypts the blocks region in place, and wipes the copy that the platform's cipher made. */
function encryptBlocks(module: WasmModule, key: GcmKey, bytes: number): void {
  const cipher = platformCipher(key, bytes / 16)
  if (cipher === undefined) {
    module.memory.set(key.schedule, REGION.schedule)
    module.calls.encryptBlocks(REGION.schedule, REGION.blocks, bytes / 16)
    module.calls.wipe(REGION.schedule, key.schedule.length)
    return
  }
  const stream = cipher.update(module.memory.subarray(REGION.blocks, REGION.blocks + bytes))
  module.memory.set(stream, REGION.blocks)
  stream.fill(0)
  freeBytes(stream)
}

/** Returns the platform's cipher if it is faster for so many blocks; undefined if the module is. */
function platformCipher(key: GcmKey, blocks: number): BlockCipher | undefined {
  if (blocks <= MODULE_BLOCKS) return undefined
  if (key.cipher === undefined) {
    key.moduleBlocks += blocks
    if (key.moduleBlocks > BLOCKS_PER_CIPHER) key.cipher = createBlockCipher(key.secret)
  }
  return key.cipher
}

function useKey(module: WasmModule, key: GcmKey): void {
  module.memory.set(key.hashTables, REGION.hashTables)
}

function forgetKey(module: WasmModule): void {
  module.calls.wipe(REGION.hashTables, HASH_TABLE_BYTES)
}

/** Returns the length of associated data, padded to whole blocks, in bytes. */
function aadStride(aadBytes: number): number {
  return (aadBytes + 15) & ~15
}
