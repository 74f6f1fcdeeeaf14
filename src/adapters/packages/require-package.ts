/** Packages that an application installs: loaded when they are needed, or an error that names the command that installs them. */
import { VaultError } from '../../core/errors.ts'
import { errorCode, errorText } from '../../core/util/causes.ts'

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
  const exported = beside(wanted, (load) => load(name))
  loaded.set(name, exported)
  return exported
}

/** Returns the file that `requirePackage` would load, for a thread that loads it itself. Throws `failed_precondition` if there is none. */
export function resolvePackage(wanted: MissingPackage): string {
  return beside(wanted, (load) => load.resolve(wanted.name))
}

function beside<T>(wanted: MissingPackage, use: (load: NodeJS.Require) => T): T {
  // Not imported: webpack reads calls of what is imported by this name, and warns of an argument that is not constant. The CommonJS build
  // has `require` in place of this member (tsup.config.ts).
  const { createRequire } = globalThis.process.getBuiltinModule('node:module')
  let first: unknown
  for (const file of [ownFile(), process.argv[1]]) {
    if (file === undefined) continue
    try {
      return use(createRequire(file))
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

/** The packages that an application installs beside this one if it uses the entry point that needs them. */
type OptionalPackage = 'better-sqlite3' | 'pg' | '@aws-sdk/client-kms' | '@aws-sdk/client-s3' | '@opentelemetry/api' | 'pkcs11js'

/** What could not be loaded. */
interface MissingPackage {
  /** The function that needs the package. */
  readonly user: string
  readonly name: OptionalPackage
  /** What else the caller can do, as a sentence. Default: nothing. */
  readonly otherwise?: string
}

/** `failed_precondition`: a package that is optional is needed now, and cannot be loaded. */
export function missingPackageError({ user, name, otherwise }: MissingPackage, error: unknown): VaultError {
  const rest = otherwise === undefined ? '' : ` ${otherwise}`
  const message = isNotFound(error, name)
    ? `${user} needs the package ${name}, which is not installed. Run: npm install ${name}.${rest}`
    : `${user} needs the package ${name}, which is installed and cannot be loaded. Run: npm install ${name}, and import it alone to see why.${rest}`
  return new VaultError('failed_precondition', message)
}

/** True if the package itself was not found. One that it needs in turn has another name. */
function isNotFound(error: unknown, name: OptionalPackage): boolean {
  const code = errorCode(error)
  const isMissing = code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND'
  return isMissing && errorText(error).includes(`'${name}'`)
}
