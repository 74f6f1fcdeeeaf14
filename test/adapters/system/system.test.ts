/** The ports of this machine: fresh bytes of every size and scope, published digests and lists of them, and a clock that rises for any steps of the wall clock. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { createClock, systemClock, systemEntropy, systemHash } from '../../../src/adapters/system/system.ts'
import { toSlab } from '../../../src/core/util/memory.ts'
import { builtProcess } from '../../support/cli/built-command.ts'

it('returns the requested number of bytes', () => {
  for (const count of [0, 1, 16, 1023, 1024, 1025, 16_384, 100_000]) expect(systemEntropy.bytes(count).length).toBe(count)
})

it('returns no 16 bytes twice over several fills of the pool', () => {
  const seen = new Set<string>()
  for (let i = 0; i < 5000; i++) seen.add(Buffer.from(systemEntropy.bytes(16)).toString('hex'))
  expect(seen.size).toBe(5000)
})

it('returns a separate buffer for each call', () => {
  const first = systemEntropy.bytes(32)
  expect(first.buffer.byteLength).toBe(32)
  const second = systemEntropy.bytes(32)
  const copy = Uint8Array.from(second)
  first.fill(0)
  expect(second).toEqual(copy)
  expect(second.some((byte) => byte !== 0)).toBe(true)
})

it('sets every bit in about half the results', () => {
  const bytes = systemEntropy.bytes(100_000)
  for (let bit = 0; bit < 8; bit++) {
    const ones = bytes.reduce((sum, byte) => sum + ((byte >> bit) & 1), 0)
    // 100,000 fair coins deviate from 50,000 by 1,500 less than once in 10^20 runs.
    expect(Math.abs(ones - 50_000)).toBeLessThan(1500)
  }
})

const run = promisify(execFile)
/** Puts the class of another realm into the global scope, before the vault is loaded. */
const OTHER_CLASS = `data:text/javascript,${encodeURIComponent("import vm from 'node:vm'; globalThis.Uint8Array = vm.runInNewContext('Uint8Array')")}`

it('a vault is not opened where bytes of the runtime are no Uint8Array, and the error names the environment to use', async () => {
  const program = builtProcess(join(import.meta.dirname, '../keys/wasm/opening-process.ts'))
  const opened = async (...flags: readonly string[]): Promise<string> =>
    (await run(process.execPath, [...flags, program])).stdout.trim()
  expect(await opened()).toBe('opened')
  expect(await opened('--import', OTHER_CLASS)).toMatch(
    /^failed_precondition: .*@vitest-environment node.*@jest-environment node/,
  )
})

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

it('returns nanoseconds since 1970, close to the wall clock', () => {
  const before = BigInt(Date.now()) * 1_000_000n
  const now = systemClock.now()
  const after = BigInt(Date.now() + 1) * 1_000_000n
  expect(now >= before && now <= after).toBe(true)
})

it('returns no time twice', () => {
  let last = systemClock.now()
  for (let i = 0; i < 20_000; i++) {
    const now = systemClock.now()
    if (now <= last) expect.unreachable(`moment ${i} did not rise`)
    last = now
  }
  expect(last > 0n).toBe(true)
})

it('follows the wall clock forward and never goes back', () => {
  const wall = { now: 1000 }
  const clock = createClock(() => wall.now)
  expect(clock.now()).toBe(1_000_000_000n)
  expect(clock.now()).toBe(1_000_000_001n)
  wall.now = 400
  expect(clock.now()).toBe(1_000_000_002n)
  wall.now = 1001.7
  expect(clock.now()).toBe(1_001_000_000n)
})
