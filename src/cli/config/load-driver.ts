/** Loads the drivers of databases, which the application installs. */
import { createRequire } from 'node:module'

/** Drivers are beside this package, as the storages load them, or beside the configuration. */
export function loaderOf(name: string, file: string): NodeJS.Require {
  const own = createRequire(import.meta.url)
  try {
    own.resolve(name)
    return own
  } catch {
    return createRequire(file)
  }
}
