/** Makes the optional packages look as if they were not installed: `node --import ./hide-packages.ts file.ts` */
import { registerHooks } from 'node:module'

const HIDDEN: ReadonlySet<string> = new Set([
  'better-sqlite3',
  'pg',
  '@aws-sdk/client-kms',
  '@aws-sdk/client-s3',
  '@opentelemetry/api',
])

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (!HIDDEN.has(specifier)) return nextResolve(specifier, context)
    // As Node reports it.
    throw Object.assign(new Error(`Cannot find package '${specifier}'`), { code: 'ERR_MODULE_NOT_FOUND' })
  },
})
