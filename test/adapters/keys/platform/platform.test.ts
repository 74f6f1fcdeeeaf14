/** Vaults with `cryptography: 'node'`: they need no WebAssembly, and store what other vaults store. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, describe, expect, it } from 'vitest'
import { localKeys } from '../../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../../src/adapters/memory/memory-storage.ts'
import { column, createVault, defineSchema } from '../../../../src/index.ts'
import { TEST_SECRET } from '../../../support/vaults/test-vault.ts'
import { EXPECTED, read, write } from './vault-work.ts'

const run = promisify(execFile)
const REMOVED = 'data:text/javascript,Reflect.deleteProperty(globalThis, "WebAssembly")'

describe('a process without WebAssembly', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-platform-'))
  afterAll(() => rm(folder, { recursive: true }))
  // In JavaScript: Node needs WebAssembly itself to read TypeScript.
  const program = join(folder, 'vault-process.mjs')
  const banner = {
    js: `import { createRequire } from 'node:module'; const require = createRequire(${JSON.stringify(import.meta.url)})`,
  }
  await build({
    entryPoints: [join(import.meta.dirname, 'vault-process.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: program,
    banner,
    packages: 'bundle',
    logLevel: 'error',
  })
  const work = async (cryptography: 'node' | 'wasm', ...flags: readonly string[]): Promise<string> =>
    (await run(process.execPath, [...flags, program, cryptography])).stdout.trim()

  it.each([
    ['removed from the global scope', ['--import', REMOVED]],
    ['that the engine does not have', ['--jitless']],
  ])('does all work of a vault: %s', async (_, flags) => {
    expect(JSON.parse(await work('node', ...flags))).toEqual(EXPECTED)
    // The control: the default needs it.
    expect(await work('wasm', ...flags)).toMatch(/^failed_precondition: The keys need WebAssembly/)
  })
})

it.each([
  ['wasm', 'node'],
  ['node', 'wasm'],
] as const)('a vault that %s wrote opens with %s, with every id, token, digest, file and event', async (writer, reader) => {
  const storage = memoryStorage()
  expect(await read(storage, reader, await write(storage, writer))).toEqual(EXPECTED)
})

it('another choice is refused', async () => {
  const options = {
    id: 'v1',
    schema: defineSchema({ notes: { text: column.string() } }),
    storage: memoryStorage(),
    keys: localKeys({ key: TEST_SECRET }),
  }
  await expect(createVault({ ...options, cryptography: 'openssl' as 'node' })).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('cryptography'),
  })
})
