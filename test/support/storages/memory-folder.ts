/** Where the temporary files of tests are: in memory, if the system has a file system for it with enough space. */
import { readFileSync, statfsSync } from 'node:fs'
import { freemem } from 'node:os'

/** Of Linux. In a container it is often too small. */
const MEMORY = '/dev/shm'
/** The largest test stores a gigabyte, beside three others and the servers. */
const NEEDED_BYTES = 8 * 2 ** 30

/**
 * Returns the folder; undefined where the usual one is better. A run creates and deletes files by the hundred thousand, most of
 * them tables of PostgreSQL, which takes the kernel a third longer on a disk.
 */
export function memoryFolder(): string | undefined {
  if (process.platform !== 'linux') return undefined
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n')
  const mount = mounts.find((line) => line.split(' ')[1] === MEMORY)
  // Tests compile libraries, and run them from there.
  if (mount === undefined || mount.includes('noexec')) return undefined
  const { bavail, bsize } = statfsSync(MEMORY)
  return bavail * bsize >= NEEDED_BYTES && freemem() >= NEEDED_BYTES ? MEMORY : undefined
}
