/** Heads of runs: which blocks a run has, the first key of each, and what its entries come to, so that whole blocks need not be opened. */
import { ByteWriter, readI64, readU32 } from '../util/bytes.ts'
import { at, required } from '../util/lists.ts'
import { readBlock, type WrittenBlock } from './block.ts'
import { CONTENTS, PREFIX_BYTES, readDelta, readRow, writeRow } from './delta.ts'
import { readErased } from './erased-rows.ts'
import { compareBytes, compareKeys, type KeyRange, MAX_KEY_BYTES } from './order-key.ts'
import { bytesOfSegment, firstAtLeast, type Segment } from './segment.ts'

/** A run whose entries are in its blocks, in the order of their keys. Lists of n + 1 items have at i what the first i blocks come to. */
export interface BlockRun {
  readonly entries: number
  /** Row ids of the blocks. */
  readonly ids: Float64Array
  /** The first key of block i is `fences[fenceStarts[i] .. fenceStarts[i + 1])`. */
  readonly fences: Uint8Array
  readonly fenceStarts: Uint32Array
  readonly lastKey: Uint8Array
  /** How often values came in each block, and how often they went. */
  readonly came: Float64Array
  readonly went: Float64Array
  /** How often values came, less how often they went, of n + 1 items. */
  readonly weights: Float64Array
  /** Sums of the values, of n + 1 items; undefined in an index without sums. */
  readonly sums: readonly bigint[] | undefined
}

/** What a row of INDEX_RUNS has. `bytes` is the memory that it takes. */
export type Head = { readonly space: number; readonly bytes: number } & (
  | { readonly kind: 'delta'; readonly segments: ReadonlyMap<number, Segment> }
  | { readonly kind: 'small'; readonly segment: Segment }
  | { readonly kind: 'run'; readonly run: BlockRun }
  | { readonly kind: 'erased'; readonly table: number; readonly rows: readonly number[] }
  | { readonly kind: 'claim' }
)

/** A block that is stored, without its bytes. */
export type StoredBlock = Omit<WrittenBlock, 'content'> & { readonly id: number }

/** Memory of a head besides its lists. */
const HEAD_BYTES = 500
/** Memory of a block in a head besides its fence: eight numbers. */
const BLOCK_HEAD_BYTES = 64

/** Returns the content of the row of a run whose blocks are being written. */
export function writeClaim(): Uint8Array {
  return prefixed(CONTENTS.claim, 0).written()
}

/** Returns the content of the head of a run that is one block, of its whole length: that of what is in it would say how many of the keys are equal. */
export function writeSmallRun(space: number, content: Uint8Array): Uint8Array {
  const out = prefixed(CONTENTS.small, space)
  out.raw(content)
  return out.written()
}

/** Returns the content of the head of a run with blocks, which are in the order of their keys. Its length is that of as many blocks with the longest keys. */
export function writeRunHead(
  space: number,
  {
    blocks,
    lastKey,
    hasSums,
  }: { readonly blocks: readonly StoredBlock[]; readonly lastKey: Uint8Array; readonly hasSums: boolean },
): Uint8Array {
  const out = prefixed(CONTENTS.run, space)
  out.u8(hasSums ? 1 : 0)
  writeRow(
    out,
    blocks.reduce((sum, { entries }) => sum + entries, 0),
  )
  out.u32(blocks.length)
  for (const { id, came, went, sum, fence } of blocks) {
    writeRow(out, id)
    out.u32(came)
    out.u32(went)
    if (hasSums) {
      out.i64(sum >> 64n)
      out.i64(BigInt.asIntN(64, sum))
    }
    out.u8(fence.length)
    out.raw(fence)
  }
  out.u8(lastKey.length)
  out.raw(lastKey)
  const unused = [lastKey, ...blocks.map(({ fence }) => fence)].reduce((sum, key) => sum + MAX_KEY_BYTES - key.length, 0)
  out.raw(new Uint8Array(unused))
  return out.written()
}

/** Returns what a row of INDEX_RUNS has, of its content. */
export function readHead(content: Uint8Array): Head {
  const kind = at(content, 0)
  const space = readU32(content, 1)
  if (kind === CONTENTS.delta) {
    const segments = readDelta(content)
    return {
      kind: 'delta',
      space,
      segments,
      bytes: [...segments.values()].reduce((sum, one) => sum + bytesOfSegment(one), HEAD_BYTES),
    }
  }
  if (kind === CONTENTS.small) {
    const segment = readBlock(content, PREFIX_BYTES)
    return { kind: 'small', space, segment, bytes: HEAD_BYTES + bytesOfSegment(segment) }
  }
  if (kind === CONTENTS.erased) return { kind: 'erased', space, ...readErased(content), bytes: HEAD_BYTES + content.length }
  if (kind !== CONTENTS.run) return { kind: 'claim', space, bytes: HEAD_BYTES }
  const run = readRun(content)
  return { kind: 'run', space, run, bytes: HEAD_BYTES + run.fences.length + run.ids.length * BLOCK_HEAD_BYTES }
}

/** Blocks of a run, by their positions: those that may have keys of a range, and among them those whose keys are all in it. `to` are exclusive. */
export interface BlockSpan {
  readonly from: number
  readonly to: number
  readonly insideFrom: number
  readonly insideTo: number
}

/** Returns where a range is in a run. At most one block before those inside, and one after them, may have other keys too. */
export function spanOf(run: BlockRun, { low, high }: KeyRange): BlockSpan {
  const count = run.ids.length
  const atLow = low === undefined ? 0 : findFence(run, low)
  const to = high === undefined ? count : findFence(run, high)
  // The block before the first fence that is not below can end with such keys.
  const from = low === undefined ? 0 : Math.max(0, atLow - 1)
  // The last block with a fence below the end can have keys beyond it, but for the last of the run.
  const isWholeAtEnd = high === undefined || (to === count && count > 0 && compareKeys(run.lastKey, high) < 0)
  const insideTo = isWholeAtEnd ? to : to - 1
  return { from, to: Math.max(from, to), insideFrom: atLow, insideTo: Math.max(atLow, insideTo) }
}

/** Returns the first block whose fence is not below a key. */
function findFence({ ids, fences, fenceStarts }: BlockRun, key: Uint8Array): number {
  return firstAtLeast(ids.length, (block) =>
    compareBytes(fences, fenceStarts[block] ?? 0, fenceStarts[block + 1] ?? 0, key, 0, key.length),
  )
}

function readRun(content: Uint8Array): BlockRun {
  let offset = PREFIX_BYTES
  const hasSums = content[offset] === 1
  const entries = readRow(content, offset + 1)
  const count = readU32(content, offset + 7)
  offset += 11
  const fences = new ByteWriter(count * 16)
  const run = {
    ids: new Float64Array(count),
    fenceStarts: new Uint32Array(count + 1),
    came: new Float64Array(count),
    went: new Float64Array(count),
    weights: new Float64Array(count + 1),
  }
  const sums = [0n]
  for (let block = 0; block < count; block++) {
    const came = readU32(content, offset + 6)
    const went = readU32(content, offset + 10)
    run.ids[block] = readRow(content, offset)
    run.came[block] = came
    run.went[block] = went
    run.weights[block + 1] = required(run.weights[block]) + came - went
    offset += 14
    if (hasSums) {
      const low = BigInt.asUintN(64, BigInt(readI64(content, offset + 8)))
      sums.push(required(sums[block]) + (BigInt(readI64(content, offset)) << 64n) + low)
      offset += 16
    }
    const length = at(content, offset++)
    fences.raw(content.subarray(offset, offset + length))
    offset += length
    run.fenceStarts[block + 1] = fences.length
  }
  const length = at(content, offset++)
  return {
    ...run,
    entries,
    fences: fences.bytes.slice(0, fences.length),
    lastKey: content.slice(offset, offset + length),
    sums: hasSums ? sums : undefined,
  }
}

function prefixed(kind: number, space: number): ByteWriter {
  const out = new ByteWriter()
  out.u8(kind)
  out.u32(space)
  return out
}
