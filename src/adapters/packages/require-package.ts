/** Loads an optional package at its first use and at once: a static import would fail before this library could say what to install. */
import { type MissingPackage, missingPackageError } from './missing-package.ts'

const loaded = new Map<string, unknown>()

/**
 * Returns what a package exports to CommonJS. Looks for it beside this file, and then beside the program that runs: a bundler can have moved
 * this file away from it. Never looks in the working directory, where others may be able to put files that would be run. Throws
 * `failed_precondition` if it cannot be loaded.
 */
export function requirePackage(wanted: MissingPackage): unknown {
  const { name } = wanted
  const found = loaded.get(name)
  if (found !== undefined) return found
  const exported = load(wanted)
  loaded.set(name, exported)
  return exported
}

function load(wanted: MissingPackage): unknown {
  // Not imported: webpack reads calls of what is imported by this name, and warns of an argument that is not constant. The CommonJS build
  // has `require` in place of this member (tsup.config.ts).
  const { createRequire } = globalThis.process.getBuiltinModule('node:module')
  let first: unknown
  for (const file of [ownFile(), process.argv[1]]) {
    if (file === undefined) continue
    try {
      return createRequire(file)(wanted.name)
    } catch (error) {
      first ??= error
    }
  }
  throw missingPackageError(wanted, first)
}

/** CommonJS, also of a bundler, has the name of the file as a variable; there `import.meta` is empty. Where Node runs a text, the variable is "[eval]". */
function ownFile(): string {
  return typeof __filename === 'string' && !/^\[.*\]$/.test(__filename) ? __filename : import.meta.url
}
