/** Says why a file cannot be opened, as the operating system knows it: SQLite has one code for most of the causes. */
import { accessSync, constants, existsSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { VaultError } from '../../core/errors.ts'
import { errorCode } from '../../core/util/causes.ts'

const { R_OK, W_OK, X_OK } = constants

/** Throws `failed_precondition` for what is there and is no file that can be read and written: SQLite opens it, and fails at the first write. */
export function assertWritableFile(filename: string): void {
  const found = statsOf(filename)
  if (found?.isFile() === false)
    throw placeErrorOf(
      found.isDirectory()
        ? 'the name is that of a folder. Add the name of a file in it, such as vault.db.'
        : 'the name is that of a device, a pipe or a socket. Give the name of a file.',
    )
  const problem = found === undefined ? undefined : problemOfFiles(filename)
  if (problem !== undefined) throw placeErrorOf(problem)
}

/** `failed_precondition` that names what is wrong with the place of the file; undefined if nothing is. */
export function placeError(filename: string): VaultError | undefined {
  const code = codeOf(() => statSync(filename))
  const isReached = code === undefined || code === 'ENOENT'
  const problem = isReached ? problemOfRights(filename) : (PROBLEMS[code] ?? UNREACHABLE)
  if (problem === undefined && code === 'ENOENT') return placeErrorOf(NO_FILES)
  return problem === undefined ? undefined : placeErrorOf(problem)
}

const UNREACHABLE = 'this process may not look into the folder of the SQLite file. Give its account that right.'

const NO_FILES = 'no file can be made in the folder of the SQLite file. Keep it on a file system that stores files.'

/** What is wrong with a path that the system cannot follow. */
const PROBLEMS: Readonly<Record<string, string>> = {
  ERR_INVALID_ARG_VALUE: 'the path of the SQLite file has a NUL character. Remove it.',
  ENOTDIR: 'a part of the path of the SQLite file is a file, not a folder. Correct the path.',
  ENAMETOOLONG: 'the path of the SQLite file is longer than the system allows. Shorten it.',
  ELOOP: 'the path of the SQLite file leads through symbolic links without an end. Correct them.',
}

function placeErrorOf(problem: string): VaultError {
  return new VaultError('failed_precondition', `sqliteStorage: ${problem}`)
}

function problemOfRights(filename: string): string | undefined {
  const folder = dirname(filename)
  if (!existsSync(folder)) return 'the folder of the SQLite file does not exist. Create it first.'
  const code = codeOf(() => accessSync(folder, W_OK | X_OK))
  if (code === 'EROFS') return READ_ONLY
  if (code === undefined) return problemOfFiles(filename)
  return 'this process may not write in the folder of the SQLite file, where SQLite makes files beside it. Give its account that right.'
}

const READ_ONLY = 'the file system of the SQLite file is read-only. Keep the file where it can be written.'

/** What is wrong with those of the files that are there. */
function problemOfFiles(filename: string): string | undefined {
  const files = [filename, `${filename}-wal`, `${filename}-shm`].filter((name) => existsSync(name))
  const code = files.map((name) => codeOf(() => accessSync(name, R_OK | W_OK))).find((found) => found !== undefined)
  if (code === 'EROFS') return READ_ONLY
  if (code === undefined) return undefined
  return 'this process may not read and write the SQLite file, or the files -wal and -shm beside it. Give its account that right.'
}

function statsOf(name: string): Stats | undefined {
  try {
    return statSync(name, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Returns the code of what the work throws, or UNKNOWN; undefined if it throws nothing. */
function codeOf(work: () => unknown): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return errorCode(error) ?? 'UNKNOWN'
  }
}
