/** Runs one test that a document shows, by itself. */
import { defineConfig } from 'vitest/config'

export default defineConfig({ test: { include: ['.examples/**/*.ts'] } })
