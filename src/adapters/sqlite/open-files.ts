/**
 * The files that this process has open, and with which driver. Each driver has a SQLite of its own, and locks of one process do not hold
 * against itself: two of them on one file write at the same time, and damage it. Source: https://sqlite.org/howtocorrupt.html, section 2.2.1.
 */
import { statSync } from 'node:fs'
import { VaultError } from '../../core/errors.ts'
import type { DriverName } from './sqlite-driver.ts'

/** The drivers by the identity of a file, once for each handle. A file can have several names: links, and letters of either case. */
const openFiles = new Map<string, DriverName[]>()

/**
 * Throws `failed_precondition` if another driver has the file open. Called before a connection is made: closing one already drops the locks
 * of the other driver, and removes the log of its commits, which the closing driver takes for its own.
 */
export function assertSoleDriver(filename: string, driver: DriverName): void {
  const identity = identityOf(filename)
  const other = identity === undefined ? undefined : openFiles.get(identity)?.find((each) => each !== driver)
  if (other === undefined) return
  throw new VaultError(
    'failed_precondition',
    `This process has the SQLite file open with the driver ${other}, and ${driver} would not see its locks. Use one driver for all handles of a process.`,
  )
}

/** Notes an existing file as open. Returns the function that notes its end. */
export function noteOpenFile(filename: string, driver: DriverName): () => void {
  const identity = identityOf(filename) ?? filename
  const drivers = openFiles.get(identity) ?? []
  drivers.push(driver)
  openFiles.set(identity, drivers)
  return () => {
    drivers.pop()
    if (drivers.length === 0) openFiles.delete(identity)
  }
}

/** Returns what all names of a file have in common; undefined if there is no such file. */
function identityOf(filename: string): string | undefined {
  const found = statSync(filename, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? undefined : `${found.dev}:${found.ino}`
}
