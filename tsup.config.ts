/** How the package is built: one ESM file, one CommonJS file and their declarations for each entry point, shared code in shared chunks. */
import { defineConfig } from 'tsup'
import { builtName, ENTRY_POINTS } from './scripts/entry-points.ts'

export default defineConfig({
  entry: Object.fromEntries(Object.entries(ENTRY_POINTS).map(([entryPoint, source]) => [builtName(entryPoint), source])),
  format: ['esm', 'cjs'],
  dts: true,
  // One VaultError class behind all entry points, in CommonJS too.
  splitting: true,
  target: 'node22',
  platform: 'node',
  clean: true,
})
