/** Loads the OpenTelemetry API when it is first needed, because the library works without that package. */
import { requirePackage } from '../packages/require-package.ts'

/** Returns the API. Throws `failed_precondition` with the command that installs it. `user` needs it, and `otherwise` says what can be passed in its place. */
export function loadApi(user: string, otherwise: string): typeof import('@opentelemetry/api') {
  // What the package exports.
  return requirePackage({ user, name: '@opentelemetry/api', otherwise }) as typeof import('@opentelemetry/api')
}
