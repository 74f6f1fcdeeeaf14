/** Nonces: none repeats within a process, nor in a restored copy of it, which shares the state of the platform's generator. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { createNonceSource, SYSTEM_GENERATORS } from '../../../src/adapters/keys/nonces.ts'
import { toSlab } from '../../../src/core/util/memory.ts'
import { seededBytes } from './seeded-bytes.ts'

const SEED = 'nonces 1'

/** A source whose platform generator has this seed, as in a copy of a process, and the nonces of some calls. */
function drawCopy(kernelSeed: string, sizes: readonly number[]): string[] {
  const platform = seededBytes(SEED)
  const kernel = seededBytes(kernelSeed)
  const source = createNonceSource({
    platform: (target, offset, count) => target.set(platform.bytes(count), offset),
    kernel: (target) => target.set(kernel.bytes(target.length)),
  })
  return sizes.flatMap((count) => {
    const target = new Uint8Array(count * 12)
    source.renew()
    source.fill(target, 0, target.length)
    return Array.from({ length: count }, (_, i) => Buffer.from(target.subarray(i * 12, i * 12 + 12)).toString('hex'))
  })
}

it('two copies of a process draw different nonces, from the first one on', () => {
  const sizes = [1, 1, 3, 200, 1, 256, 257, 1000, 1]
  const count = sizes.reduce((sum, size) => sum + size, 0)
  const both = [...drawCopy('kernel 1', sizes), ...drawCopy('kernel 2', sizes)]
  expect(new Set(both).size).toBe(2 * count)
  // Without the kernel they would be equal.
  expect(new Set([...drawCopy('kernel 1', sizes), ...drawCopy('kernel 1', sizes)]).size).toBe(count)
})

it('a source returns no half twice, within a call and over several', () => {
  const source = createNonceSource(SYSTEM_GENERATORS)
  const seen = new Set<string>()
  const sizes = [12, 12, 24, 3072, 3084, 12, 6144, 7200]
  let halves = 0
  for (let round = 0; round < 300; round++) {
    const target = new Uint8Array(sizes[round % sizes.length] ?? 12)
    source.renew()
    source.fill(target, 0, target.length)
    for (let at = 0; at + 12 <= target.length; at += 12, halves++)
      seen.add(Buffer.from(target.subarray(at, at + 12)).toString('hex'))
  }
  expect(seen.size).toBe(halves)
})

/** Number of `read` calls of this process, and of the bytes they returned. */
function readsOfProcess(): { readonly calls: number; readonly bytes: number } {
  const text = readFileSync('/proc/self/io', 'latin1')
  const numberOf = (name: string): number => Number(new RegExp(`^${name}: ([0-9]+)$`, 'm').exec(text)?.[1])
  return { calls: numberOf('syscr'), bytes: numberOf('rchar') }
}

it.skipIf(process.platform !== 'linux')('each call that seals reads fresh bytes from the kernel', () => {
  const ring = keyRingFactory.createRing('vault', [{ version: 1, key: seededBytes(SEED).bytes(32) }])
  const seal = (count: number): void => {
    ring.seal(
      'records',
      new Uint8Array(3),
      toSlab(Array.from({ length: count }, () => new Uint8Array(9))),
      new Uint8Array(count * 32),
    )
  }
  seal(1)
  for (const count of [1, 100]) {
    const before = readsOfProcess()
    for (let i = 0; i < 500; i++) seal(count)
    const after = readsOfProcess()
    expect(after.calls - before.calls).toBeGreaterThanOrEqual(500)
    expect(after.bytes - before.bytes).toBeGreaterThanOrEqual(500 * 12)
  }
})
