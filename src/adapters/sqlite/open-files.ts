/**
 * The files that this process has open, and with which driver. Each driver has a SQLite of its own, and locks of one process do not hold
 * against itself: two of them on one file write at the same time, and damage it. Source: https://sqlite.org/howtocorrupt.html, section 2.2.1.
 */
import { VaultError } from '../../core/errors.ts'
import type { DriverName } from './sqlite-driver.ts'

/** The drivers by path, once for each handle. */
const openFiles = new Map<string, DriverName[]>()

/** Notes a file as open. Throws `failed_precondition` if another driver has it open. Returns the function that notes its end. */
export function noteOpenFile(path: string, driver: DriverName): () => void {
  const drivers = openFiles.get(path) ?? []
  const other = drivers.find((each) => each !== driver)
  if (other !== undefined) {
    throw new VaultError(
      'failed_precondition',
      `This process has the SQLite file open with the driver ${other}, and ${driver} would not see its locks. Use one driver for all handles of a process.`,
    )
  }
  drivers.push(driver)
  openFiles.set(path, drivers)
  return () => {
    drivers.pop()
    if (drivers.length === 0) openFiles.delete(path)
  }
}
