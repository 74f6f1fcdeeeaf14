/** How the package is built: one ESM file, one CommonJS file and their declarations for each entry point, shared code in shared chunks. */
import { defineConfig } from 'tsup'
import { BUNDLED_PACKAGES, compactPackages, writeNotices } from './scripts/bundled-packages.ts'
import { builtName, ENTRY_POINTS } from './scripts/entry-points.ts'

const FOLDER = 'dist'

export default defineConfig({
  entry: Object.fromEntries(Object.entries(ENTRY_POINTS).map(([entryPoint, source]) => [builtName(entryPoint), source])),
  outDir: FOLDER,
  format: ['esm', 'cjs'],
  dts: true,
  // One VaultError class behind all entry points, in CommonJS too.
  splitting: true,
  target: 'node22',
  platform: 'node',
  clean: true,
  noExternal: [...BUNDLED_PACKAGES],
  esbuildPlugins: [compactPackages],
  esbuildOptions(options, { format }) {
    // CommonJS has no `import.meta`: one is a syntax error there. The only use asks for the name of its own file.
    if (format === 'cjs') options.define = { ...options.define, 'import.meta.url': '__filename' }
    // One character beyond ASCII makes Node decode and compile the whole file as UTF-16, which takes longer than the rest of the import.
    options.charset = 'ascii'
  },
  onSuccess: () => writeNotices(FOLDER),
})
