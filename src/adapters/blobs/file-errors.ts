/** Maps what the file system throws to `VaultError`s that carry its code, and neither its text nor a path. */
import { isVaultError, VaultError } from '../../core/errors.ts'
import { errorCode, isForbidden } from '../../core/util/causes.ts'
import { fullError, strippedCause, unavailableError } from '../errors/storage-errors.ts'

const ENGINE = 'The file system'

/** No space is left: on the disk, of the quota, or in a file. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])
/** The account of the process has no right to the directory or the file. */
const REFUSED: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS'])
/** The disk, or the process, cannot serve the call now. */
const UNREACHABLE: ReadonlySet<string> = new Set(['EIO', 'EMFILE', 'ENFILE', 'ENOMEM', 'EBUSY', 'ESTALE', 'ENODEV', 'ETIMEDOUT'])

/** Returns the error to throw for anything that a call threw. */
export function mapFileError(error: unknown): VaultError {
  if (isVaultError(error)) return error
  const code = errorCode(error)
  const cause = strippedCause(ENGINE, code)
  if (isForbidden(error))
    return unavailableError(
      'The permissions of this process do not allow the folder of the blobs. Start Node with --allow-fs-read and --allow-fs-write of it, ' +
        'and Deno with --allow-read and --allow-write.',
      cause,
    )
  if (code === undefined) return new VaultError('internal', 'The folder of the blobs cannot be used.', {}, { cause })
  if (FULL.has(code)) return fullError(ENGINE, cause)
  if (REFUSED.has(code))
    return unavailableError('The folder of the blobs refuses this process. Check the owner and mode of the folder.', cause)
  if (UNREACHABLE.has(code)) return unavailableError('The folder of the blobs cannot be read or written now. Retry.', cause)
  return new VaultError('internal', 'The folder of the blobs is not as this store left it.', {}, { cause })
}
