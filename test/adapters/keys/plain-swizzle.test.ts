/** The known answers and laws of the keys in the form of the module for runtimes without relaxed SIMD. */
import { expect, it } from 'vitest'
import { withoutRelaxed } from '../../../src/adapters/keys/wasm/wasm.ts'
import { wasmBytes } from '../../../src/adapters/keys/wasm/wasm-bytes.ts'

/** The part of the WebAssembly API that this test replaces. */
interface WebAssemblyApi {
  validate(bytes: Uint8Array): boolean
}

const api = (globalThis as unknown as { readonly WebAssembly: WebAssemblyApi }).WebAssembly
const validate = api.validate.bind(api)
const relaxed = Buffer.from(wasmBytes, 'base64')
const seen: boolean[] = []

// As a runtime without relaxed SIMD: what is imported below begins with the first call of the module.
api.validate = (bytes) => {
  const isValid = !relaxed.equals(bytes) && validate(bytes)
  seen.push(isValid)
  return isValid
}

it('the other form was refused, and this one taken', async () => {
  const { getWasm } = await import('../../../src/adapters/keys/wasm/wasm.ts')
  getWasm()
  expect(seen).toEqual([false, true])
  expect(withoutRelaxed(relaxed).equals(relaxed)).toBe(false)
})

await import('./known-answers.ts')
