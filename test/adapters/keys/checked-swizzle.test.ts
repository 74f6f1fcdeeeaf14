/** The known answers and laws of the keys in a form of the module that refuses each index whose relaxed look-up is left open. */
import { expect, it } from 'vitest'
import { buildWasm } from '../../../scripts/build-wasm.ts'
import { getWasm, REGION } from '../../../src/adapters/keys/wasm/wasm.ts'
import { wasmBytes } from '../../../src/adapters/keys/wasm/wasm-bytes.ts'

/** The part of the WebAssembly API that this test uses and replaces. */
interface WebAssemblyApi {
  Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object) => { readonly exports: object }
}

/** Relaxed look-ups differ between processors for indexes from 16 to 127. */
const CHECKED = `
@inline
function checkedSwizzle(table: v128, index: v128): v128 {
  if (v128.any_true(v128.and(i8x16.gt_u(index, i8x16.splat(15)), i8x16.ge_s(index, i8x16.splat(0))))) unreachable()
  return i8x16.swizzle(table, index)
}
`
const check = (source: string): string => source.replaceAll('i8x16.relaxed_swizzle(', 'checkedSwizzle(') + CHECKED

const api = (globalThis as unknown as { readonly WebAssembly: WebAssemblyApi }).WebAssembly
const { Module } = api
const relaxed = Buffer.from(wasmBytes, 'base64')
const { bytes: checked, text } = await buildWasm(check)
const made: Uint8Array[] = []

// What is imported below begins with the first call of the module, which takes this form.
api.Module = new Proxy(Module, {
  construct(target, [bytes]: [Uint8Array]) {
    made.push(bytes)
    return new target(relaxed.equals(bytes) ? checked : bytes)
  },
})

it('the checked form has no relaxed look-up, and is the one that is used', () => {
  expect(text).not.toContain('relaxed')
  getWasm()
  expect(made.map((bytes) => relaxed.equals(bytes))).toEqual([true])
})

it('the checked form refuses an index of 16: here nibbles keep one bit too many', async () => {
  const { bytes } = await buildWasm((source) => check(source.replaceAll('15, 15', '31, 31')))
  const { calls, memory } = getWasm()
  const wrong = new api.Instance(new Module(bytes)).exports as typeof calls
  Buffer.from(wrong.memory.buffer).fill(0x10, REGION.blocks, REGION.blocks + 16)
  memory.fill(0x10, REGION.blocks, REGION.blocks + 16)
  for (const one of [wrong, calls]) one.prepareAes()
  expect(() => wrong.encryptBlocks(REGION.schedule, REGION.blocks, 1)).toThrow('unreachable')
  calls.encryptBlocks(REGION.schedule, REGION.blocks, 1)
  calls.wipe(REGION.blocks, 16)
})

await import('./known-answers.ts')
