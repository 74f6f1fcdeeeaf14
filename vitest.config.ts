/** How the tests run: one real PostgreSQL for all of them, and one process for each file, or for many. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { summaryLine } from './test/support/reporting/summary-line.ts'

/** Files that change what their process has for all (a global, a module, the environment), or measure it. */
const APART = ['multipart-memory', 'node-edge']
/** Files that run in processes with others of them: each would load the sources anew, which is a quarter of the CPU of the suite. All others have a process of their own. */
const TOGETHER = `test/{audit-verifier,client,core,http,transfer}/**/!(${APART.join('|')}).test.ts`

const COMMON = {
  // No test measures time: one that hangs fails, and one on a busy machine does not.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  // Tests start hundreds of processes of the same sources. With their compiled code kept, each starts in half the time.
  env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url)) },
  pool: 'forks',
} as const

export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres/global-setup.ts', 'test/support/console/global-setup.ts'],
    // Many tests wait, for timers, disks and processes: three use two cores better than two do.
    maxWorkers: 3,
    reporters: ['default', summaryLine()],
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'html'] },
    projects: [
      { test: { ...COMMON, name: 'apart', include: ['test/**/*.test.ts'], exclude: [TOGETHER] } },
      { test: { ...COMMON, name: 'together', include: [TOGETHER], isolate: false } },
    ],
  },
})
