/** Refuses a version of Node on which a native driver ends the process with a segmentation fault: nothing could be said then. */
import { VaultError } from '../../core/errors.ts'

/** Throws `failed_precondition` for Node before 22.14. Bun and Deno have the version of the Node that they are like. */
export function assertNodeVersion(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 14)) return
  throw new VaultError(
    'failed_precondition',
    `strongroom/sqlite needs Node 22.14 or newer, and this is Node ${version}. Update Node: on an older one the driver ends the process.`,
  )
}
