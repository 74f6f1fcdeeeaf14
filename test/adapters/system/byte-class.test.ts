/** A global scope with another `Uint8Array` than the runtime, as jsdom has it in tests, is refused before anything is read. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)
/** Puts the class of another realm into the global scope, before the vault is loaded. */
const OTHER_CLASS = `data:text/javascript,${encodeURIComponent("import vm from 'node:vm'; globalThis.Uint8Array = vm.runInNewContext('Uint8Array')")}`

it('a vault is not opened where bytes of the runtime are no Uint8Array, and the error names the environment to use', async () => {
  const program = join(import.meta.dirname, '../keys/opening-process.ts')
  const opened = async (...flags: readonly string[]): Promise<string> =>
    (await run(process.execPath, [...flags, program])).stdout.trim()
  expect(await opened()).toBe('opened')
  expect(await opened('--import', OTHER_CLASS)).toMatch(
    /^failed_precondition: .*@vitest-environment node.*@jest-environment node/,
  )
})
