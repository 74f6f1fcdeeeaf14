/** The bytes of the module are the compiled form of its source. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createContext, runInContext } from 'node:vm'
import { describe, expect, it, vi } from 'vitest'
import { buildWasm, renderWasmFile } from '../../../../scripts/build-wasm.ts'
import { getWasm, REGION, withoutRelaxed } from '../../../../src/adapters/keys/wasm/wasm.ts'
import { wasmBytes } from '../../../../src/adapters/keys/wasm/wasm-bytes.ts'

const run = promisify(execFile)

it('rebuilding the module from its source gives the published bytes', async () => {
  const { bytes } = await buildWasm()
  expect(Buffer.from(bytes).toString('base64')).toBe(wasmBytes)
  const file = await readFile(new URL('../../../../src/adapters/keys/wasm/wasm-bytes.ts', import.meta.url), 'utf8')
  expect(file).toBe(renderWasmFile(bytes))
})

it('the plain form replaces each relaxed swizzle, and nothing else', async () => {
  const { bytes, text } = await buildWasm()
  const relaxed = Buffer.from(bytes)
  const plain = withoutRelaxed(relaxed)
  const changed = [...relaxed.keys()].filter((at) => relaxed[at] !== plain[at])
  // Two of the three bytes of an opcode differ.
  expect(changed.length).toBe(2 * text.split('i8x16.relaxed_swizzle').length - 2)
  expect(text.match(/relaxed/g)?.length).toBe(changed.length / 2)
  for (const at of changed) relaxed[at] = plain[at] ?? 0
  expect(relaxed.equals(plain)).toBe(true)
})

it('the module imports nothing, and its static memory ends below the first region', () => {
  const { memory } = getWasm()
  expect(memory.length).toBe(40 * 65_536)
  expect(memory.subarray(3072, REGION.hashTables).every((byte) => byte === 0)).toBe(true)
})

describe('a runtime without WebAssembly SIMD', () => {
  const opened = async (...flags: readonly string[]): Promise<string> =>
    (await run(process.execPath, [...flags, join(import.meta.dirname, 'opening-process.ts')])).stdout.trim()
  const SIMD = /WebAssembly with SIMD/
  const ERROR = /^failed_precondition: .*WebAssembly with SIMD/

  it.skipIf(process.arch !== 'x64')(
    'gets an error that says so when a vault is opened (as on an x64 processor without SSE4.1)',
    async () => {
      expect(await opened()).toBe('opened')
      expect(await opened('--no-enable-sse4-1')).toMatch(ERROR)
    },
  )

  it('gets the same error where the module is not valid', async () => {
    expect(await opened('--import', 'data:text/javascript,WebAssembly.validate = () => false')).toMatch(ERROR)
  })

  it('gets an error of its own where the engine may not compile, as in workerd', async () => {
    vi.resetModules()
    const fresh = await import('../../../../src/adapters/keys/wasm/wasm.ts')
    const forbidding = createContext({}, { codeGeneration: { strings: true, wasm: false } })
    vi.stubGlobal('WebAssembly', runInContext('WebAssembly', forbidding))
    try {
      expect(() => fresh.getWasm()).toThrow(
        expect.objectContaining({
          code: 'failed_precondition',
          message: expect.stringMatching(
            /^The keys need to compile WebAssembly while the program runs, which this runtime forbids/,
          ),
        }),
      )
    } finally {
      vi.unstubAllGlobals()
    }
  })

  it('gets the same error where there is no WebAssembly, as with --jitless', async () => {
    vi.resetModules()
    const fresh = await import('../../../../src/adapters/keys/wasm/wasm.ts')
    vi.stubGlobal('WebAssembly', undefined)
    try {
      expect(() => fresh.getWasm()).toThrow(
        expect.objectContaining({ code: 'failed_precondition', message: expect.stringMatching(SIMD) }),
      )
    } finally {
      vi.unstubAllGlobals()
    }
  })
})
