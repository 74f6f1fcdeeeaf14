/** How the tests run: one real PostgreSQL for all of them, and one process for each file, or for many. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { summaryLine } from './test/support/reporting/summary-line.ts'
import { memoryFolder } from './test/support/storages/memory-folder.ts'

/** Files that change what their process has for all (timers, a global, a module or its samples, flags of the engine), or measure it: its memory, its open resources, how long its turns are. */
const MEASURED =
  'issuer-keys service-keys multipart-memory node-edge many-epochs wasm checked-swizzle plain-swizzle key-memory clamd-failures conformance-detects-faults harness loop-holds steady-memory file-memory'
/** Files that keep compilers, a browser or an engine in WebAssembly: their memory is not for the files after them. */
const LARGE = 'pglite-conformance architecture how-to example-types exported-names hovers scale schema-library'
const APART = `test/**/{${[...MEASURED.split(' '), ...LARGE.split(' ')].join(',')}}.test.ts`
/** All others run in processes with others of them: each would load the sources anew, which is a quarter of the CPU of the suite. */
const ALL = 'test/**/*.test.ts'

const folder = memoryFolder()
if (folder !== undefined) process.env.TMPDIR ??= folder

const COMMON = {
  // No test measures time: one that hangs fails, and one on a busy machine does not.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 60_000 } },
  // Tests start hundreds of processes of the same sources. With their compiled code kept, each starts in half the time.
  env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url)) },
  pool: 'forks',
} as const

export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres/global-setup.ts', 'test/support/console/global-setup.ts'],
    // Tests wait more than half of their time, for timers, disks, processes and servers: four use two cores better than two do.
    maxWorkers: 4,
    reporters: ['default', summaryLine()],
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'html'] },
    projects: [
      { test: { ...COMMON, name: 'apart', include: [APART] } },
      { test: { ...COMMON, name: 'together', include: [ALL], exclude: [APART], isolate: false } },
    ],
  },
})
