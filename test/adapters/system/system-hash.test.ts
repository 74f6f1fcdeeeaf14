/** The SHA-256 of the system: published digests, and lists. */
import { expect, it } from 'vitest'
import { systemHash } from '../../../src/adapters/system/system.ts'
import { toSlab } from '../../../src/core/util/memory.ts'

it('hashes each input separately as specified in FIPS 180-4', () => {
  const hashes = systemHash.sha256(toSlab([Buffer.from('abc'), Uint8Array.of(), Buffer.from('abc')]))
  const abc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
  const nothing = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
  expect(Buffer.from(hashes).toString('hex')).toBe(abc + nothing + abc)
  expect(systemHash.sha256(toSlab([]))).toEqual(new Uint8Array(0))
})

it('hashes a single input without the bytes behind it', () => {
  const bytes = Buffer.from('abcdef')
  const alone = systemHash.sha256(toSlab([Buffer.from('abc')]))
  expect(systemHash.sha256({ bytes, ends: Uint32Array.of(3), count: 1 })).toEqual(alone)
  expect(systemHash.sha256({ bytes, ends: Uint32Array.of(6), count: 1 })).not.toEqual(alone)
})
