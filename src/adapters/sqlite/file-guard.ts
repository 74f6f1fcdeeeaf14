/** Notices that the files of an open database were deleted or replaced: SQLite goes on with files that have no name any more. */
import { type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { outcomeUnknownError, unavailableError } from '../errors/storage-errors.ts'

export interface FileGuard {
  /** Throws `outcome_unknown` if a file is gone, and remembers it. Called after a commit, before it is acknowledged. */
  assertSame(): void
  /** Throws `unavailable` once a file was found gone. */
  assertPresent(): void
  /** Looks whether a file is gone, remembers it, and throws `unavailable`. Called where the files are opened by their names once more. */
  assertInPlace(): void
}

/** The database, the log of its last commits, and the index of that log. */
const SUFFIXES = ['', '-wal', '-shm'] as const
/** Two changes of a folder have different times only if they are this far from each other: clocks of file systems tick in milliseconds, of FAT in two seconds. */
const QUIET_MS = 3000

/**
 * Guards the files as they are now: all three exist once a database is open in WAL mode. Deleting, renaming or replacing a file changes
 * the time of change of its folder, which nothing can set back. So while the folder is unchanged, one look at it replaces three.
 */
export function createFileGuard(filename: string, now: () => number = Date.now): FileGuard {
  const names = SUFFIXES.map((suffix) => `${filename}${suffix}`)
  const identities = names.map(identityOf)
  const folder = dirname(filename)
  let isLost = false
  /** The folder as it was before the files were last looked at; undefined if it had changed shortly before. */
  let known: Stats | undefined

  function assertPresent(): void {
    if (isLost)
      throw unavailableError(
        'The SQLite file was deleted or replaced while it was open, or cannot be looked at any more. Restore it, then open it again.',
      )
  }

  function look(): void {
    const found = statsOf(folder)
    if (!isLost && found !== undefined && known !== undefined && isUnchanged(known, found)) return
    isLost ||= names.some((name, index) => identityOf(name) !== identities[index])
    known = !isLost && found !== undefined && now() - found.ctimeMs > QUIET_MS ? found : undefined
  }

  return {
    assertSame() {
      look()
      if (isLost) throw outcomeUnknownError('The SQLite file was deleted or replaced', new Error('The file has another identity'))
    },
    assertPresent,
    assertInPlace() {
      look()
      assertPresent()
    },
  }
}

function isUnchanged(before: Stats, after: Stats): boolean {
  const isSameTime = before.ctimeMs === after.ctimeMs && before.mtimeMs === after.mtimeMs
  return isSameTime && before.ino === after.ino && before.dev === after.dev
}

/** Device and inode; undefined if there is no such file. */
function identityOf(name: string): string | undefined {
  const found = statsOf(name)
  return found === undefined ? undefined : `${found.dev}:${found.ino}`
}

/** Undefined also where looking fails: the commit before it is stored, so its error would say the contrary. */
function statsOf(name: string): Stats | undefined {
  try {
    return statSync(name, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
