/** The bytes of the module are the compiled form of its source. */
import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { buildWasm, renderWasmFile } from '../../../scripts/build-wasm.ts'
import { getWasm, REGION } from '../../../src/adapters/keys/wasm.ts'
import { wasmBytes } from '../../../src/adapters/keys/wasm-bytes.ts'

it('rebuilding the module from its source gives the published bytes', async () => {
  const bytes = await buildWasm()
  expect(Buffer.from(bytes).toString('base64')).toBe(wasmBytes)
  const file = await readFile(new URL('../../../src/adapters/keys/wasm-bytes.ts', import.meta.url), 'utf8')
  expect(file).toBe(renderWasmFile(bytes))
})

it('the module imports nothing, and its static memory ends below the first region', () => {
  const { memory } = getWasm()
  expect(memory.length).toBe(40 * 65_536)
  expect(memory.subarray(3072, REGION.hashKey).every((byte) => byte === 0)).toBe(true)
})
