/** Bundles a program with the package for Node. Everything else stays a package. */
import { fileURLToPath } from 'node:url'

/** Stands in for the plugin that resolves packages, which rollup does not do by itself. */
const resolvePackage = {
  name: 'resolve-package',
  resolveId: (name) => (/^strongroom(\/|$)/.test(name) ? fileURLToPath(import.meta.resolve(name)) : null),
}

// biome-ignore lint/style/noDefaultExport: rollup reads its configuration from the default export.
export default {
  input: 'sqlite.mjs',
  output: { dir: 'rollup', format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
  external: (name) => !/^[./]|^strongroom(\/|$)/.test(name),
  plugins: [resolvePackage],
}
