/** Errors of the file system as a blob store throws them: a code, and no path. */
import { inspect } from 'node:util'
import { expect, it } from 'vitest'
import { mapFileError } from '../../../src/adapters/blobs/folder-files.ts'
import { VaultError } from '../../../src/core/errors.ts'

/** An error as the platform throws it. */
function failed(code: unknown): Error {
  return Object.assign(new Error(`${code}: open '/secret/path'`), { code, path: '/secret/path', syscall: 'open' })
}

const CODES = {
  storage_full: ['ENOSPC', 'EDQUOT', 'EFBIG'],
  unavailable: ['ERR_ACCESS_DENIED', 'EACCES', 'EPERM', 'EROFS', 'EIO', 'EMFILE', 'ENFILE', 'ESTALE'],
  internal: ['ELOOP', 'ENOTDIR', 'EISDIR', 'ENXIO', 'ERR_INVALID_ARG_TYPE', 'a text of some length', 7, undefined],
}

for (const [code, reasons] of Object.entries(CODES)) {
  for (const reason of reasons) {
    it(`${String(reason)} is ${code}, without a path`, () => {
      const error = mapFileError(failed(reason))
      expect(error.code).toBe(code)
      expect(inspect(error)).not.toContain('secret')
      expect(inspect(error)).not.toContain('a text of')
    })
  }
}

it('a VaultError is returned unchanged, and what is no error is internal', () => {
  const own = new VaultError('not_found', 'There is no blob of this key.')
  expect(mapFileError(own)).toBe(own)
  expect(mapFileError('/secret/path')).toMatchObject({ code: 'internal' })
})
