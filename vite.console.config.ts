/** How the console is built: static files whose names have a hash of their content, with compressed forms, for `src/http/console` to serve. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'
import { CONSOLE_PACKAGES } from './scripts/bundled-packages.ts'

const FOLDER = 'dist/console'

/** Fails if a package is built in whose license the notices do not have. */
const packagesAreListed: Plugin = {
  name: 'packages-are-listed',
  generateBundle(_options, bundle) {
    const files = Object.values(bundle).flatMap((one) => (one.type === 'asset' ? one.originalFileNames : []))
    for (const path of [...this.getModuleIds(), ...files]) {
      const name = /node_modules\/((?:@[\w-]+\/)?[\w.-]+)\//.exec(path)?.[1]
      // Of Vite there is only what loads chunks.
      if (name !== undefined && name !== 'vite' && !CONSOLE_PACKAGES.includes(name))
        throw new Error(`The console has ${name} built in. List it in CONSOLE_PACKAGES of scripts/bundled-packages.ts.`)
    }
  },
}

/** Writes the compressed forms of files of text beside them: they are made once, as small as they get. */
const compressed: Plugin = {
  name: 'compressed',
  writeBundle() {
    const folder = join(FOLDER, 'assets')
    for (const name of readdirSync(folder).filter((one) => /\.(js|css|svg)$/.test(one))) {
      const bytes = readFileSync(join(folder, name))
      const size = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
      writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes, { params: size }))
      writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }))
    }
  },
}

export default defineConfig({
  root: 'src/console',
  // Chunks find each other beside themselves, and the server writes the way to them into the page: the console works under any path.
  base: './',
  logLevel: 'warn',
  plugins: [packagesAreListed, compressed],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: `../../${FOLDER}`,
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    // The content policy allows no data: URL.
    assetsInlineLimit: 0,
    sourcemap: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: { checks: { pluginTimings: false } },
  },
})
