/** The hash chain: each event gets the next position, a later time and the digest of the previous event. Merkle trees have published roots, grown in one go or stored. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { systemHash } from '../../../src/adapters/system/system.ts'
import {
  type ChainHead,
  decodeHead,
  encodeHead,
  fromRowId,
  hashLeaf,
  MerkleBuilder,
  peakBytes,
  toRowId,
} from '../../../src/core/audit/chain.ts'
import { decodeEvent } from '../../../src/core/audit/read-event.ts'
import { encodeEvent } from '../../../src/core/audit/write-event.ts'
import { ByteWriter, toHex } from '../../../src/core/util/bytes.ts'
import { DRAFT, FAILED_DRAFT, FULL_DRAFT, START, textOf, writeChain } from '../../support/audit/sample-trails.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'

/** Returns the leaf hash of RFC 9162, computed independently. */
function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(Uint8Array.of(0)).update(bytes).digest('hex')
}

it('stores the digest of the previous event in each event, and that of the last in the head', () => {
  const { rows, head } = writeChain(2, [DRAFT, FULL_DRAFT, FAILED_DRAFT])
  const events = rows.map(({ bytes }) => decodeEvent(bytes))
  const digests = rows.map(({ bytes }) => digestOf(textOf(bytes)))
  expect(events.map(({ position }) => ({ ...position, previous: Buffer.from(position.previous).toString('hex') }))).toEqual([
    { chain: 2, sequence: 1, previous: '' },
    { chain: 2, sequence: 2, previous: digests[0] },
    { chain: 2, sequence: 3, previous: digests[1] },
  ])
  expect({ ...head, digest: toHex(head.digest) }).toMatchObject({ chain: 2, sequence: 3, digest: digests[2], at: START + 2n })
  expect(rows.map(({ id }) => id)).toEqual([1, 2, 3].map((sequence) => toRowId({ chain: 2, sequence })))
})

it('writes the events of a list side by side, with the same bytes if their memory grows meanwhile', () => {
  const drafts = [FULL_DRAFT, DRAFT, FAILED_DRAFT, DRAFT]
  const space = new ByteWriter(100_000)
  space.u8(7)
  const { rows } = writeChain(1, drafts, { out: space })
  const grown = writeChain(1, drafts, { out: new ByteWriter(1) })
  let end = 1
  for (const [index, { bytes }] of rows.entries()) {
    expect({ buffer: bytes.buffer === space.bytes.buffer, start: bytes.byteOffset }).toEqual({ buffer: true, start: end })
    expect(textOf(bytes)).toEqual(encodeEvent(decodeEvent(bytes)))
    expect(grown.rows[index]?.bytes).toEqual(bytes)
    end += bytes.length
  }
  expect({ first: space.bytes[0], end: space.length }).toEqual({ first: 7, end })
})

it('makes the same chain of a list and of single events', () => {
  const random = seededRandom('chain')
  const drafts = Array.from({ length: 100 }, () => [DRAFT, FULL_DRAFT, FAILED_DRAFT][Math.floor(random() * 3)] ?? DRAFT)
  const together = writeChain(1, drafts)
  let head: ChainHead | undefined
  const alone = drafts.flatMap((draft) => {
    const chained = writeChain(1, [draft], head === undefined ? {} : { head: decodeHead(encodeHead(head)) })
    head = chained.head
    return chained.rows
  })
  expect(alone).toEqual(together.rows)
  expect(head).toEqual(together.head)
})

it('increments the time by a nanosecond if the clock stops or goes back', () => {
  const first = writeChain(1, [DRAFT, DRAFT])
  const second = writeChain(1, [DRAFT, DRAFT], { now: START - 1_000_000_000n, head: first.head })
  const third = writeChain(1, [DRAFT], { now: START + 5n, head: second.head })
  const rows = [...first.rows, ...second.rows, ...third.rows]
  expect(rows.map(({ at }) => at - START)).toEqual([0n, 1n, 2n, 3n, 5n])
  expect(rows.map(({ bytes }) => decodeEvent(bytes).timestamp.slice(-5))).toEqual(['0000Z', '0001Z', '0002Z', '0003Z', '0005Z'])
})

it('does not change the bytes of earlier events', () => {
  const drafts = Array.from({ length: 50 }, (_, index) => ({ ...DRAFT, content: 'x'.repeat(index * 200) }))
  const { rows } = writeChain(1, drafts)
  expect(rows.map(({ bytes }) => decodeEvent(bytes).content?.length)).toEqual(drafts.map(({ content }) => content.length))
})

it('orders rows as chains and sequence numbers, within 48 bits', () => {
  expect(toRowId({ chain: 65_535, sequence: 0xffff_ffff })).toBe(2 ** 48 - 1)
  expect(fromRowId(2 ** 48 - 1)).toEqual({ chain: 65_535, sequence: 0xffff_ffff })
  for (const row of [0, 5, 2 ** 32, 3 * 2 ** 32, 2 ** 48]) expect(fromRowId(row)).toBeUndefined()
  expect(() => toRowId({ chain: 1, sequence: 2 ** 32 })).toThrow(
    expect.objectContaining({ code: 'storage_full', message: 'Audit chain 1 is full.' }),
  )
})

it('rejects a head that is truncated, extended or of another version', () => {
  const bytes = encodeHead(writeChain(1, [DRAFT, DRAFT, DRAFT]).head)
  const changed = [bytes.subarray(0, -1), Uint8Array.of(...bytes, 0), Uint8Array.of(2, ...bytes.subarray(1)), new Uint8Array(0)]
  for (const one of changed)
    expect(() => decodeHead(one)).toThrow(
      expect.objectContaining({ code: 'data_loss', message: expect.stringContaining('unknown format') }),
    )
})

/** Leaves and roots of the reference implementation of Certificate Transparency (RFC 6962, whose tree RFC 9162 kept): root n is over the first n leaves. */
const LEAVES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f']
const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

/** MTH as RFC 9162, section 2.1.1 defines it. */
function recursiveRoot(leaves: readonly Uint8Array[]): Buffer {
  const [only] = leaves
  if (only === undefined) return createHash('sha256').digest()
  if (leaves.length === 1) return createHash('sha256').update(Uint8Array.of(0)).update(only).digest()
  let split = 1
  while (split * 2 < leaves.length) split *= 2
  const [left, right] = [recursiveRoot(leaves.slice(0, split)), recursiveRoot(leaves.slice(split))]
  return createHash('sha256').update(Uint8Array.of(1)).update(left).update(right).digest()
}

describe('a tree', () => {
  it('has the published roots', () => {
    const tree = new MerkleBuilder(systemHash)
    const roots = [toHex(tree.root())]
    for (const leaf of LEAVES) {
      tree.append(hashLeaf(systemHash, Buffer.from(leaf, 'hex')))
      roots.push(toHex(tree.root()))
    }
    expect(roots).toEqual(ROOTS)
  })

  it('has the roots of the recursive definition for every size up to 130, also if it was stored in between', () => {
    const leaves = Array.from({ length: 130 }, (_, index) => Uint8Array.of(index))
    let tree = new MerkleBuilder(systemHash)
    for (const [index, leaf] of leaves.entries()) {
      tree.append(hashLeaf(systemHash, leaf))
      const kept = tree.tree()
      expect(kept.peaks.length).toBe(peakBytes(index + 1))
      expect(toHex(tree.root())).toBe(recursiveRoot(leaves.slice(0, index + 1)).toString('hex'))
      tree = new MerkleBuilder(systemHash, kept)
    }
  })

  it('counts its peaks beyond 31 bits', () => {
    expect(peakBytes(2 ** 32 - 1)).toBe(32 * 32)
    expect(peakBytes(2 ** 31)).toBe(32)
  })
})
