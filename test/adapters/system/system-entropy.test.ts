/** The system entropy: fresh bytes of every size, each in a separate buffer. A `Uint8Array` of another scope, as of jsdom, is refused. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { systemEntropy } from '../../../src/adapters/system/system.ts'

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
  const program = join(import.meta.dirname, '../keys/wasm/opening-process.ts')
  const opened = async (...flags: readonly string[]): Promise<string> =>
    (await run(process.execPath, [...flags, program])).stdout.trim()
  expect(await opened()).toBe('opened')
  expect(await opened('--import', OTHER_CLASS)).toMatch(
    /^failed_precondition: .*@vitest-environment node.*@jest-environment node/,
  )
})
