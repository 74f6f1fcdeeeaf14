/** Configuration that runs one example of a document as a test. */
import { defineConfig } from 'vitest/config'

export default defineConfig({ test: { include: ['.examples/**/*.ts'] } })
