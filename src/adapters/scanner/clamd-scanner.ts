/** A scanner that sends files to clamd, the daemon of ClamAV. */
import { isVaultError } from '../../core/errors.ts'
import type { FileScanner } from '../../core/ports/blobs.ts'
import { checkSettings } from './check-settings.ts'
import { type ClamdAddress, type ClamdOptions, parseAddress, parseLimits } from './clamd-options.ts'
import { cancelledError } from './scanner-errors.ts'
import { streamFile } from './stream-file.ts'

export type { ClamdAddress, ClamdOptions } from './clamd-options.ts'

/**
 * Returns a scanner that sends each file to clamd on a connection of its own. clamd must report what it skips: AlertExceedsMax and
 * AlertEncrypted. Before the first scan, and after each failed one, the scanner checks that it does, with two small files. Scans throw
 * `unavailable` if clamd does not, cannot be reached, makes no progress or returns nonsense. Throws `invalid_request` for other options.
 * Source: docs/how-to/scanner.md.
 */
export function clamdScanner(address: ClamdAddress, options: ClamdOptions = {}): FileScanner {
  const target = parseAddress(address)
  const { timeoutMs, maxBytes } = parseLimits(options)
  let isChecked = false
  return {
    async scan(file) {
      if (file.signal.aborted) throw cancelledError()
      if (file.size > maxBytes) return 'unscannable'
      try {
        if (!isChecked) await checkSettings(target, timeoutMs, file.signal)
        isChecked = true
        return await streamFile(target, timeoutMs, file)
      } catch (error) {
        // It may be another daemon, or one with other settings, that runs after this.
        if (isVaultError(error, 'unavailable')) isChecked = false
        throw error
      }
    },
  }
}
