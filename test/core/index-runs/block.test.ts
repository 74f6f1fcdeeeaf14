/** Blocks and heads of runs: what was written is read again, over the ends of blocks, and sums are exact at any size. */
import { expect, it } from 'vitest'
import { BlockWriter, readBlock, type WrittenBlock } from '../../../src/core/index-runs/block.ts'
import { compareKeys, keyAfter, MAX_KEY_BYTES, NULL_KEY, orderKey } from '../../../src/core/index-runs/order-key.ts'
import { readHead, spanOf, writeRunHead, writeSmallRun } from '../../../src/core/index-runs/run-head.ts'
import type { Segment } from '../../../src/core/index-runs/segment.ts'
import { columnTypes } from '../../../src/core/values/column-types.ts'
import { keyOfGroup } from '../../support/indexes/group-keys.ts'
import { randomFor } from '../../support/random/seeded-random.ts'

interface Entry {
  readonly key: Uint8Array
  readonly row: number
  readonly weight: number
}

function written(entries: readonly Entry[], blockBytes: number, hasSums = false) {
  const writer = new BlockWriter(hasSums, blockBytes)
  for (const { key, row, weight } of entries) writer.add(key, 0, key.length, row, weight)
  writer.finish()
  return { blocks: writer.take(), lastKey: writer.lastKey, hasSums }
}

function entriesOf(segment: Segment): Entry[] {
  const entries: Entry[] = []
  for (let group = 0; group < segment.groups; group++)
    for (let i = segment.firsts[group] ?? 0; i < (segment.firsts[group + 1] ?? 0); i++)
      entries.push({ key: keyOfGroup(segment, group), row: segment.rows[i] ?? 0, weight: segment.weights[i] ?? 0 })
  return entries
}

/** Entries by key and row: keys of all lengths that share beginnings, rows up to the highest, and weights of all sizes. */
function randomEntries(count: number): Entry[] {
  const random = randomFor(`blocks ${count}`)
  const key = (): Uint8Array =>
    random.pick([random.bytes(random.below(3)), new Uint8Array(MAX_KEY_BYTES).fill(random.below(3)), NULL_KEY])
  const entries = Array.from({ length: count }, () => ({
    key: key(),
    row: random.pick([random.below(100), random.below(2 ** 48)]),
    weight: random.pick([1, 1, -1, 2, -2, 1000, -(2 ** 31)]),
  }))
  return entries
    .sort((one, other) => compareKeys(one.key, other.key) || one.row - other.row)
    .filter(
      ({ key, row }, index) =>
        index === 0 || entries[index - 1]?.row !== row || compareKeys(entries[index - 1]?.key ?? key, key) !== 0,
    )
}

it.each([
  [256, 3000],
  [8192, 3000],
  [8192, 1],
])('blocks of %i bytes have the %i entries that were written, in order, and all are of that length', (blockBytes, count) => {
  const entries = randomEntries(count)
  const { blocks } = written(entries, blockBytes)
  expect(blocks.flatMap(({ content }) => entriesOf(readBlock(content)))).toEqual(entries)
  for (const [index, { content, fence, entries: n }] of blocks.entries()) {
    expect(content.length).toBe(blockBytes)
    expect([fence, n]).toEqual([entriesOf(readBlock(content))[0]?.key, entriesOf(readBlock(content)).length])
    if (index > 0) expect(compareKeys(fence, blocks[index - 1]?.fence ?? fence)).toBeGreaterThanOrEqual(0)
  }
})

it('a head has of each block what its entries come to, with sums that are exact at any size', () => {
  const values = [-(2n ** 63n), -(2n ** 63n), -5, 0, 7, 2n ** 63n - 1n, 2n ** 63n - 1n, 2n ** 63n - 1n, null]
  const weights = [1, 3, -1, 1, 1, 1, 2, -7, 1]
  const entries = values.map((value, row) => ({ key: orderKey(columnTypes.INTEGER, value), row, weight: weights[row] ?? 1 }))
  const sums = values.map((value, row) => BigInt(value ?? 0) * BigInt(weights[row] ?? 1))
  for (const blockBytes of [100, 8192]) {
    const run = written(entries, blockBytes, true)
    const head = readHead(writeRunHead(12, { ...run, blocks: run.blocks.map((block, id) => ({ ...block, id: 2 ** 47 + id })) }))
    if (head.kind !== 'run') throw new Error('it is the head of a run')
    expect([head.space, head.run.entries, head.run.ids.length]).toEqual([12, 9, run.blocks.length])
    expect(head.run.sums?.at(-1)).toBe(sums.reduce((sum, one) => sum + one, 0n))
    expect(head.run.weights.at(-1)).toBe(weights.reduce((sum, one) => sum + one, 0))
    expect([...head.run.came, ...head.run.went].reduce((sum, one) => sum + one, 0)).toBe(
      weights.reduce((sum, one) => sum + Math.abs(one), 0),
    )
    expect(head.run.lastKey).toEqual(NULL_KEY)
    expect([...head.run.ids]).toEqual(run.blocks.map((_, id) => 2 ** 47 + id))
  }
  const [only] = written(entries, 8192).blocks
  const small = readHead(writeSmallRun(11, (only as WrittenBlock).content))
  expect(small.kind === 'small' && entriesOf(small.segment)).toEqual(entries)
})

it('the length of a head says nothing but the number of its blocks', () => {
  const lengthOf = (keys: readonly Uint8Array[]): number => {
    const blocks = keys.map((fence, id) => ({ id, fence, entries: 9, came: 9, went: 0, sum: 0n }))
    return writeRunHead(11, { blocks, lastKey: keys.at(-1) ?? NULL_KEY, hasSums: true }).length
  }
  const long = new Uint8Array(MAX_KEY_BYTES)
  expect(lengthOf([new Uint8Array(0), NULL_KEY])).toBe(lengthOf([long, long]))
  expect(lengthOf([NULL_KEY])).toBeLessThan(lengthOf([NULL_KEY, NULL_KEY]))
})

it('the span of a range has all blocks with such keys, and inside of it are only blocks without others', () => {
  const entries = randomEntries(2000)
  const run = written(entries, 256)
  const head = readHead(writeRunHead(12, { ...run, blocks: run.blocks.map((block, id) => ({ ...block, id: id + 1 })) }))
  if (head.kind !== 'run') throw new Error('it is the head of a run')
  const random = randomFor('spans')
  const keysOf = run.blocks.map(({ content }) => entriesOf(readBlock(content)).map(({ key }) => key))
  for (let i = 0; i < 500; i++) {
    const [one, other] = [random.pick(entries).key, random.pick(entries).key].sort(compareKeys)
    const range = {
      low: random.chance(0.2) ? undefined : one,
      high: random.chance(0.2) ? undefined : random.chance(0.5) ? other : other && keyAfter(other),
    }
    const isIn = (key: Uint8Array) =>
      (range.low === undefined || compareKeys(key, range.low) >= 0) &&
      (range.high === undefined || compareKeys(key, range.high) < 0)
    const { from, to, insideFrom, insideTo } = spanOf(head.run, range)
    for (const [block, keys] of keysOf.entries()) {
      if (keys.some(isIn)) expect(block >= from && block < to).toBe(true)
      if (block >= insideFrom && block < insideTo) expect(keys.every(isIn)).toBe(true)
    }
  }
})
