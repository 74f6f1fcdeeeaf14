/** The WebAssembly module of the keys: instantiated on first use, one for the process, its memory divided into fixed regions. */
import { wasmBytes } from './wasm-bytes.ts'

/** Messages or items one call of the module takes. */
export const MAX_BATCH_ITEMS = 4096

const KIB = 1024
/** Room that the module may write or read past the end of a region. */
const SLACK = 64

/**
 * Where each region starts. Below 4 KiB lies what the compiler placed. Three large regions: what comes in, AES blocks, what
 * goes out. Sealing, digests and pointers use the same ones, never at the same time.
 */
export const REGION = {
  hashKey: 4 * KIB,
  prefix: 4 * KIB + 64,
  fixed: 4 * KIB + 512,
  subkeys: 4 * KIB + 576,
  running: 5 * KIB,
  /** Round keys of the key at work, wiped when its call ends. */
  schedule: 6 * KIB,
  lengths: 8 * KIB,
  /** One byte a item for sealing and pointers; for digests the items' order, which reaches over the IVs. */
  flags: 8 * KIB + 4 * MAX_BATCH_ITEMS,
  ivs: 8 * KIB + 5 * MAX_BATCH_ITEMS,
  contexts: 8 * KIB + 17 * MAX_BATCH_ITEMS,
  input: 256 * KIB,
  blocks: 1024 * KIB,
  output: 1792 * KIB,
} as const

/** Bytes that may be used of the region for the prefix, and of each large one. */
export const CAPACITY = { prefix: 384, large: 768 * KIB - SLACK } as const

/** What wasm/wasm.as exports; the meaning of every parameter is written there. */
interface WasmCalls {
  readonly memory: { readonly buffer: ArrayBuffer }
  expandKey(key: number, schedule: number): void
  encryptBlocks(schedule: number, blocks: number, count: number): void
  useHashKey(at: number): void
  forgetHashKey(): void
  writeCounters(ivs: number, stride: number, inBodies: number, lengths: number, count: number, out: number): number
  sealBodies(
    stream: number,
    plain: number,
    lengths: number,
    count: number,
    associatedData: number,
    contextBytes: number,
    prefix: number,
    prefixBytes: number,
    ivs: number,
    out: number,
  ): number
  openBodies(
    stream: number,
    bodies: number,
    prefixBytes: number,
    lengths: number,
    count: number,
    associatedData: number,
    contextBytes: number,
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
  disguiseFew(
    schedule: number,
    fixed: number,
    words: number,
    left: number,
    right: number,
    blocks: number,
    text: number,
    count: number,
  ): void
  undisguiseFew(
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
  wipe(at: number, bytes: number): void
}

/** The module: its calls, its memory as bytes, and two of its regions as 32-bit words. */
export interface WasmModule {
  readonly calls: WasmCalls
  readonly memory: Buffer
  readonly lengths: Uint32Array
  /** What lies in `input`, for as many pointers as there are items. */
  readonly words: Uint32Array
}

/** The part of the WebAssembly interface used here; the type library of this project does not carry it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object) => { readonly exports: object }
}

let module: WasmModule | undefined

/** The one module of this process. Every use is synchronous and wipes its data, so callers cannot interfere. */
export function getWasm(): WasmModule {
  module ??= startWasm()
  return module
}

function startWasm(): WasmModule {
  const module = new WebAssembly.Module(Buffer.from(wasmBytes, 'base64'))
  const { exports } = new WebAssembly.Instance(module)
  // Checked edge: the bytes are built from wasm/wasm.as, and a test rebuilds them.
  const calls = exports as WasmCalls
  calls.prepareAes()
  calls.prepareDigits()
  const { buffer } = calls.memory
  const lengths = new Uint32Array(buffer, REGION.lengths, MAX_BATCH_ITEMS)
  return { calls, memory: Buffer.from(buffer), lengths, words: new Uint32Array(buffer, REGION.input, 4 * MAX_BATCH_ITEMS) }
}
