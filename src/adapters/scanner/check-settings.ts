/** Checks that clamd reports files that it does not read to their end. With its default settings it calls them clean. */
import type { NetConnectOpts } from 'node:net'
import type { Signal } from '../../core/util/signal.ts'
import { encryptedZip, nestedZip } from './probe-files.ts'
import { settingsError } from './scanner-errors.ts'
import { streamFile } from './stream-file.ts'

/** More than MaxRecursion can be. Source: libclamav, CLI_MAX_MAXREC. */
const NESTING = 120

/** Scans two harmless files that clamd cannot read. Throws `unavailable` if it calls one of them clean. */
export async function checkSettings(address: NetConnectOpts, timeoutMs: number, signal: Signal): Promise<void> {
  if (await isCalledClean(nestedZip(NESTING)))
    throw settingsError('files beyond its limits', 'AlertExceedsMax yes and ScanArchive yes')
  if (await isCalledClean(encryptedZip())) throw settingsError('encrypted files', 'AlertEncrypted yes')

  async function isCalledClean(bytes: Uint8Array): Promise<boolean> {
    return (await streamFile(address, timeoutMs, { content: once(bytes), size: bytes.length, signal })) === 'clean'
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
