/** Merkle trees: published roots, for trees that grow in one go and for stored ones. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { systemHash } from '../../../src/adapters/system/system.ts'
import { hashLeaf, MerkleBuilder, peakBytes } from '../../../src/core/audit/chain.ts'
import { toHex } from '../../../src/core/util/bytes.ts'

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
