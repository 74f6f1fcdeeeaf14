/** How the command is built: one file that knows all commands, and a chunk for each. It imports the entry points of the package as they were built. */
import { join, relative, resolve } from 'node:path'
import type { Plugin } from 'esbuild'
import { defineConfig } from 'tsup'
import { compactPackages, replaceRequires } from './scripts/bundled-packages.ts'
import { builtName, ENTRY_POINTS } from './scripts/entry-points.ts'

const FOLDER = 'dist/cli'

/** The names of the built files by their sources. */
const BUILT = new Map(
  Object.entries(ENTRY_POINTS).map(([entryPoint, source]) => [resolve(source), `${builtName(entryPoint)}.js`]),
)

/** One copy of the library: what a configuration imports is what the command uses. */
const entryPointsAreExternal: Plugin = {
  name: 'entry-points-are-external',
  setup(build) {
    build.onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) => {
      const built = BUILT.get(resolve(resolveDir, path))
      return built === undefined
        ? undefined
        : { path: relative(FOLDER, join('dist', built)).replaceAll('\\', '/'), external: true }
    })
  },
}

export default defineConfig({
  entry: { strongroom: 'src/cli/strongroom.ts' },
  outDir: FOLDER,
  format: ['esm'],
  splitting: true,
  target: 'node22',
  platform: 'node',
  removeNodeProtocol: false,
  banner: { js: '#!/usr/bin/env node' },
  noExternal: [/^(?!strongroom)/],
  esbuildPlugins: [entryPointsAreExternal, replaceRequires, compactPackages],
  esbuildOptions(options) {
    options.charset = 'ascii'
  },
})
