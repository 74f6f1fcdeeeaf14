/** How the package is built: one ESM file, one CommonJS file and their declarations for each door, shared code in shared chunks. */
import { defineConfig } from 'tsup'
import { builtName, DOORS } from './scripts/doors.ts'

export default defineConfig({
  entry: Object.fromEntries(Object.entries(DOORS).map(([door, source]) => [builtName(door), source])),
  format: ['esm', 'cjs'],
  dts: true,
  // One VaultError class behind all doors, in CommonJS too.
  splitting: true,
  target: 'node22',
  platform: 'node',
  clean: true,
})
