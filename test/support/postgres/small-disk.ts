/** A disk of a few megabytes, on which writing fails for want of space, or because it is read-only. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { unprivilegedAccount } from './server.ts'

export interface SmallDisk {
  /** An empty folder that belongs to the account of the server. */
  readonly directory: string
  /** Makes the file system read-only, or writable again. */
  setWritable(isWritable: boolean): void
  unmount(): void
}

/** Mounts a file system in memory. Undefined where this run may not mount, as on most machines of developers. */
export function mountSmallDisk(megabytes: number): SmallDisk | undefined {
  const account = unprivilegedAccount()
  if (account === undefined || process.platform !== 'linux') return undefined
  const directory = mkdtempSync(path.join(tmpdir(), 'strongroom-disk-'))
  chmodSync(directory, 0o755)
  const options = `size=${megabytes}m,mode=700,uid=${account.uid},gid=${account.gid}`
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', directory]).status !== 0) {
    rmdirSync(directory)
    return undefined
  }
  return {
    directory,
    setWritable(isWritable) {
      const { status } = spawnSync('mount', ['-o', `remount,${isWritable ? 'rw' : 'ro'}`, directory])
      if (status !== 0) throw new Error('The small disk could not be mounted again.')
    },
    unmount() {
      spawnSync('umount', ['--lazy', directory])
      rmdirSync(directory)
    },
  }
}
