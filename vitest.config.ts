/** How the tests run: one real PostgreSQL for all of them, one process per file. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { summaryLine } from './test/support/reporting/summary-line.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/postgres/global-setup.ts', 'test/support/console/global-setup.ts'],
    // No test measures time: one that hangs fails, and one on a busy machine does not.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Tests start hundreds of processes of the same sources. With their compiled code kept, each starts in half the time.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url)) },
    pool: 'forks',
    // Many tests wait, for timers, disks and processes: three use two cores better than two do.
    maxWorkers: 3,
    reporters: ['default', summaryLine()],
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'html'] },
  },
})
