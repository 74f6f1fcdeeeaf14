/** How the console is built: static files whose names have a hash of their content, for `src/http/console` to serve. */
import { defineConfig } from 'vite'

export default defineConfig({
  root: 'src/console',
  // Chunks find each other beside themselves, and the server writes the way to them into the page: the console works under any path.
  base: './',
  logLevel: 'warn',
  build: {
    outDir: '../../dist/console',
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    // The content policy allows no data: URL.
    assetsInlineLimit: 0,
    sourcemap: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
})
