/** Notices that the files of an open database were deleted or replaced: SQLite goes on with files that have no name any more. */
import { statSync } from 'node:fs'
import { outcomeUnknownError, unavailableError } from '../errors/storage-errors.ts'

export interface FileGuard {
  /** Throws `outcome_unknown` if a file is gone, and remembers it. Called after a commit, before it is acknowledged. */
  assertSame(): void
  /** Throws `unavailable` once a file was found gone. */
  assertPresent(): void
}

/** The database, the log of its last commits, and the index of that log. */
const SUFFIXES = ['', '-wal', '-shm'] as const

/** Guards the files as they are now: all three exist once a database is open in WAL mode. */
export function createFileGuard(filename: string): FileGuard {
  const names = SUFFIXES.map((suffix) => `${filename}${suffix}`)
  const identities = names.map(identityOf)
  let isLost = false
  return {
    assertSame() {
      if (!isLost && names.every((name, index) => identityOf(name) === identities[index])) return
      isLost = true
      throw outcomeUnknownError('The SQLite file was deleted or replaced', new Error('The file has another identity'))
    },
    assertPresent() {
      if (isLost)
        throw unavailableError('The SQLite file was deleted or replaced while it was open. Restore it, then open it again.')
    },
  }
}

/** Device and inode; undefined if there is no such file. */
function identityOf(name: string): string | undefined {
  const found = statSync(name, { throwIfNoEntry: false })
  return found === undefined ? undefined : `${found.dev}:${found.ino}`
}
