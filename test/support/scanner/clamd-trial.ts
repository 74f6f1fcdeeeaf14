/** A fake daemon for each test, a scanner that has checked its settings, and the codes of errors. */
import { inspect } from 'node:util'
import { expect } from 'vitest'
import { type ClamdOptions, clamdScanner } from '../../../src/adapters/scanner/index.ts'
import type { FileScanner } from '../../../src/core/ports/blobs.ts'
import { isVaultError } from '../../../src/index.ts'
import type { ClamdBehavior, FakeClamd } from './fake-clamd.ts'
import { fileOf } from './scanned-file.ts'

/** What no error may contain. */
export const CANARY = 'canary-7f3a91'
export const MEBIBYTE = 1024 * 1024

/** A scanner that has checked the settings of the daemon, which then behaves as given. */
export async function scannerWith(clamd: FakeClamd, behavior: ClamdBehavior, options?: ClamdOptions): Promise<FileScanner> {
  const scanner = clamdScanner(clamd.address, options)
  expect(await scanner.scan(fileOf('hello'))).toBe('clean')
  clamd.behave(behavior)
  return scanner
}

/** Returns the code of the error of a scan, which quotes nothing of the file or of the reply. Throws any other error. */
export async function codeOf(scan: Promise<unknown>): Promise<string> {
  const error: unknown = await scan.then(
    (verdict) => new Error(`no error, but ${String(verdict)}`),
    (failure: unknown) => failure,
  )
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(CANARY)
  if (!isVaultError(error)) throw error
  return error.code
}
