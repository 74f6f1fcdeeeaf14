/** Loads the entry points it is given by `import` and by `require`, and compares their exports. */
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

for (const name of process.argv.slice(2)) {
  const [esm, cjs] = [await import(name), require(name)].map((exports) => Object.keys(exports).sort().join(' '))
  // The ports are types alone.
  if (esm === '' && !name.endsWith('-port')) throw new Error(`${name} exports nothing`)
  if (esm !== cjs) throw new Error(`${name} exports [${esm}] to import and [${cjs}] to require`)
}
