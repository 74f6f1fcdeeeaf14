/** The WebAssembly module of the keys, one for the process, with fixed regions of memory; and AES-256 over whole blocks, by it or the platform. */
import { VaultError } from '../../../core/errors.ts'
import { secretBytes, wipe } from '../key-bytes.ts'
import { createBlockCipher, type InPlaceCipher } from '../platform/aes.ts'
import { wasmBytes } from './wasm-bytes.ts'

/** Maximum number of items of one call. */
export const MAX_BATCH_ITEMS = 4096

const KIB = 1024
/** Number of bytes that the module may read or write past the end of a region. */
const SLACK = 64

/**
 * Offsets of the regions. The compiler uses the first 4 KiB. The three large regions are for input, AES blocks and output. Sealing,
 * digests and pointers share all regions, but never at the same time.
 */
export const REGION = {
  /** The tables of a hash key, wiped at the end of each call. */
  hashTables: 4 * KIB,
  prefix: 5 * KIB,
  fixed: 5 * KIB + 512,
  subkeys: 5 * KIB + 576,
  running: 6 * KIB,
  /** Round keys, wiped at the end of each call. */
  schedule: 7 * KIB,
  lengths: 8 * KIB,
  /** One byte for each item; for digests the order of the items, which extends over the IVs. */
  flags: 8 * KIB + 4 * MAX_BATCH_ITEMS,
  ivs: 8 * KIB + 5 * MAX_BATCH_ITEMS,
  associatedData: 8 * KIB + 17 * MAX_BATCH_ITEMS,
  input: 256 * KIB,
  blocks: 1024 * KIB,
  output: 1792 * KIB,
} as const

/** Length in bytes of the tables of a GHASH key. */
export const HASH_TABLE_BYTES = 16 * 64

/** Length in bytes of a derived key as the module computes it: the key, its round keys, its GHASH key, the tables of that. */
export const DERIVED_KEY_BYTES = 32 + 240 + 16 + HASH_TABLE_BYTES

/** Usable bytes of the region for the prefix, and of each large region. */
export const CAPACITY = { prefix: 384, large: 768 * KIB - SLACK } as const

/** The exports of wasm/wasm.as, which documents the parameters. */
interface WasmCalls {
  readonly memory: { readonly buffer: ArrayBuffer }
  expandKey(key: number, schedule: number): void
  encryptBlocks(schedule: number, blocks: number, count: number): void
  fillHashTables(hashKey: number, tables: number): void
  writeCounters(ivs: number, stride: number, inBodies: number, lengths: number, count: number, out: number): number
  sealBodies(
    tables: number,
    stream: number,
    plain: number,
    lengths: number,
    count: number,
    associatedData: number,
    aadBytes: number,
    prefix: number,
    prefixBytes: number,
    ivs: number,
    out: number,
  ): number
  openBodies(
    tables: number,
    stream: number,
    bodies: number,
    prefixBytes: number,
    lengths: number,
    count: number,
    associatedData: number,
    aadBytes: number,
    opened: number,
    plain: number,
  ): void
  prepareAes(): void
  prepareDigits(): void
  splitWords(words: number, left: number, right: number, count: number): void
  joinWords(words: number, left: number, right: number, wellFormed: number, count: number): void
  writeRound(fixed: number, round: number, half: number, blocks: number, count: number): void
  addRound(fixed: number, next: number, half: number, blocks: number, count: number): void
  subtractRound(fixed: number, next: number, half: number, blocks: number, count: number): void
  renderUuids(left: number, right: number, text: number, count: number): void
  parseUuids(text: number, left: number, right: number, wellFormed: number, count: number): void
  encryptPointersFew(
    schedule: number,
    fixed: number,
    words: number,
    left: number,
    right: number,
    blocks: number,
    text: number,
    count: number,
  ): void
  decryptPointersFew(
    schedule: number,
    fixed: number,
    text: number,
    left: number,
    right: number,
    blocks: number,
    words: number,
    wellFormed: number,
    count: number,
  ): void
  orderItems(ends: number, base: number, count: number, order: number, running: number): void
  addStep(
    bytes: number,
    ends: number,
    base: number,
    order: number,
    running: number,
    step: number,
    subkeys: number,
    blocks: number,
  ): void
  digestFew(
    schedule: number,
    bytes: number,
    ends: number,
    base: number,
    count: number,
    order: number,
    running: number,
    subkeys: number,
    blocks: number,
    out: number,
  ): void
  writeMacs(blocks: number, order: number, count: number, out: number): void
  wipe(offset: number, bytes: number): void
}

/** The module: its functions, its memory as bytes, and two regions as 32-bit words. */
export interface WasmModule {
  readonly calls: WasmCalls
  readonly memory: Buffer
  readonly lengths: Uint32Array
  /** The region `input`, for MAX_BATCH_ITEMS pointers. */
  readonly words: Uint32Array
  /** The start of the region `blocks`, where a derived key is computed. */
  readonly derived: Uint8Array
}

/** The part of the WebAssembly API used here. The type library of this project does not include it. */
declare const WebAssembly: {
  validate(bytes: Uint8Array): boolean
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object) => { readonly exports: object }
}

// Not named "module": in a CommonJS build that would be the variable of Node.
let started: WasmModule | undefined

/** Returns the module of this process. All uses are synchronous and wipe their data, so callers cannot interfere. */
export function getWasm(): WasmModule {
  started ??= startWasm()
  return started
}

function startWasm(): WasmModule {
  // Before `WebAssembly` is read: a runtime that has none gets the error that says so.
  const bytes = supportedBytes()
  const module = compiled(bytes)
  const { exports } = new WebAssembly.Instance(module)
  // The cast is safe: the bytes are built from wasm/wasm.as, and a test rebuilds them.
  const calls = exports as WasmCalls
  calls.prepareAes()
  calls.prepareDigits()
  const { buffer } = calls.memory
  return {
    calls,
    memory: Buffer.from(buffer),
    lengths: new Uint32Array(buffer, REGION.lengths, MAX_BATCH_ITEMS),
    words: new Uint32Array(buffer, REGION.input, 4 * MAX_BATCH_ITEMS),
    derived: new Uint8Array(buffer, REGION.blocks, DERIVED_KEY_BYTES),
  }
}

/** Compiles the module. Throws `failed_precondition` where the runtime compiles none while it runs: the engine has an error of its own for it. */
function compiled(bytes: Uint8Array): object {
  try {
    return new WebAssembly.Module(bytes)
  } catch {
    throw new VaultError(
      'failed_precondition',
      'The keys need to compile WebAssembly while the program runs, which this runtime forbids, as workerd does (Cloudflare Workers). ' +
        "Run the vault on Node, Bun or Deno, or with `cryptography: 'node'`, which needs no WebAssembly and is slower.",
    )
  }
}

/** The opcode of `i8x16.relaxed_swizzle`, and the one of `i8x16.swizzle` in as many bytes: a number of WebAssembly can be longer than it needs. */
const RELAXED_SWIZZLE = [0xfd, 0x80, 0x02] as const
const SWIZZLE = [0xfd, 0x8e, 0x00] as const

/** Returns the module with each relaxed swizzle replaced by a plain one. A test shows that no other bytes of the module look like the opcode. */
export function withoutRelaxed(bytes: Buffer): Buffer {
  const plain = Buffer.from(bytes)
  const opcode = Uint8Array.from(RELAXED_SWIZZLE)
  for (let at = plain.indexOf(opcode); at >= 0; at = plain.indexOf(opcode, at)) plain.set(SWIZZLE, at)
  return plain
}

/**
 * Returns the module in a form that the runtime compiles. Where it has no relaxed SIMD, look-ups take one instruction more. Throws
 * `failed_precondition` where it has no SIMD.
 */
function supportedBytes(): Uint8Array {
  const bytes = Buffer.from(wasmBytes, 'base64')
  if (typeof WebAssembly === 'object') {
    if (WebAssembly.validate(bytes)) return bytes
    const plain = withoutRelaxed(bytes)
    if (WebAssembly.validate(plain)) return plain
  }
  throw new VaultError(
    'failed_precondition',
    'The keys need WebAssembly with SIMD (128-bit), which this runtime or processor does not have, or which an option of the runtime turns off. ' +
      "Node 22 and later, Bun and Deno have it on x64 processors with SSE4.1 and on ARM64. Without it, open the vault with `cryptography: 'node'`, which is slower.",
  )
}

/** Overwrites all regions, when a key ring is closed. Each call wipes what it wrote; this covers a call that threw. */
export function wipeWasm(): void {
  started?.calls.wipe(REGION.hashTables, started.memory.length - REGION.hashTables)
}

const BLOCK = 16

/**
 * Number of blocks up to which the module is not slower than one call of the platform's cipher, which takes as long for one as for many: making and
 * freeing the memory of what it returns is most of it. Both take as long for 31 on an idle machine, and for some 20 to 25 on a busy one.
 */
export const MODULE_BLOCKS = 25

/** Returns a cipher for a key of 32 bytes, which are not kept. It encrypts a few blocks in the module, more with the platform's cipher. */
export function createModuleCipher(key: Uint8Array): InPlaceCipher {
  const cipher = createBlockCipher(key)
  const schedule = expandKey(key)
  let isClosed = false
  return {
    encrypt(blocks) {
      if (blocks.length <= MODULE_BLOCKS * BLOCK && !isClosed) encryptFew(schedule, blocks)
      else {
        const encrypted = cipher.update(blocks)
        blocks.set(encrypted)
        wipe(encrypted)
      }
    },
    close() {
      isClosed = true
      cipher.close()
      wipe(schedule)
    },
  }
}

/** Encrypts blocks in place in the module, with the round keys of `expandKey`. */
export function encryptFew(schedule: Uint8Array, blocks: Uint8Array): void {
  const { calls, memory } = getWasm()
  memory.set(schedule, REGION.schedule)
  memory.set(blocks, REGION.blocks)
  calls.encryptBlocks(REGION.schedule, REGION.blocks, blocks.length / BLOCK)
  memory.copy(blocks, 0, REGION.blocks, REGION.blocks + blocks.length)
  calls.wipe(REGION.schedule, schedule.length)
  calls.wipe(REGION.blocks, blocks.length)
}

/** Length of the round keys of AES-256 in the format of the module, in bytes. */
export const SCHEDULE_BYTES = 240

/**
 * Returns the round keys of a key of 32 bytes, for AES inside the module. They are as secret as the key. The process holds them in
 * memory, as OpenSSL does; the memory of the module holds them only during a call.
 */
export function expandKey(key: Uint8Array): Uint8Array {
  const { calls, memory } = getWasm()
  const schedule = secretBytes(SCHEDULE_BYTES)
  memory.set(key, REGION.input)
  calls.expandKey(REGION.input, REGION.schedule)
  schedule.set(memory.subarray(REGION.schedule, REGION.schedule + SCHEDULE_BYTES))
  calls.wipe(REGION.input, key.length)
  calls.wipe(REGION.schedule, SCHEDULE_BYTES)
  return schedule
}
