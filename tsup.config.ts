/** How the package is built: one ESM file, one CommonJS file and their declarations for each entry point, shared code in shared chunks. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defineConfig } from 'tsup'
import { compactPackages, LIBRARY_PACKAGES, replaceRequires, writeNotices } from './scripts/bundled-packages.ts'
import { builtName, ENTRY_POINTS } from './scripts/entry-points.ts'
import { SBOM, sbomText } from './scripts/sbom.ts'

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
  // A package of Node's could have the name of a module without it.
  removeNodeProtocol: false,
  clean: true,
  noExternal: [...LIBRARY_PACKAGES],
  esbuildPlugins: [replaceRequires, compactPackages],
  esbuildOptions(options, { format }) {
    // CommonJS has the name of its file as a variable. To mention import.meta is a syntax error there. And `require` is that of its
    // loader: under Jest the module that it returns finds the same copy of a package as a test does. Two copies of a native one end the process.
    const ofCommonJs = { 'import.meta.url': '__filename', 'globalThis.process.getBuiltinModule': 'require' }
    if (format === 'cjs') options.define = { ...options.define, ...ofCommonJs }
    // One character beyond ASCII makes Node decode and compile the whole file as UTF-16, which takes longer than the rest of the import.
    options.charset = 'ascii'
  },
  async onSuccess() {
    await writeNotices(FOLDER)
    await writeFile(join(FOLDER, SBOM), sbomText())
  },
})
