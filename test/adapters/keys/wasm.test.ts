/** The engine's bytes are what its source compiles to. */
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { buildEngine, renderEngineFile } from '../../../scripts/build-wasm.ts'
import { REGION, useEngine } from '../../../src/adapters/keys/wasm.ts'
import { engineBytes } from '../../../src/adapters/keys/wasm-bytes.ts'

test('rebuilding the engine from its source gives the bytes that are shipped', async () => {
  const bytes = await buildEngine()
  expect(Buffer.from(bytes).toString('base64')).toBe(engineBytes)
  const file = await readFile(new URL('../../../src/adapters/keys/wasm-bytes.ts', import.meta.url), 'utf8')
  expect(file).toBe(renderEngineFile(bytes))
})

test('the engine imports nothing and what the compiler placed in memory ends below the first region', () => {
  const { memory } = useEngine()
  expect(memory.length).toBe(40 * 65_536)
  expect(memory.subarray(2048, REGION.hashKey).every((byte) => byte === 0)).toBe(true)
})
