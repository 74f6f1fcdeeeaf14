/** The error of an optional package that is not installed: it names the command that installs it. */
import { VaultError } from '../../core/errors.ts'
import { errorCode, errorText } from '../../core/util/causes.ts'

/** The packages that an application installs beside this one if it uses the entry point that needs them. */
export type OptionalPackage = 'better-sqlite3' | 'pg' | '@aws-sdk/client-s3' | '@opentelemetry/api'

/** What could not be loaded. */
export interface MissingPackage {
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
