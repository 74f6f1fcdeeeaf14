/** A scanner that sends files to clamd, the daemon of ClamAV, once it is sure that clamd reports the files that it does not read to their end. */
import type { NetConnectOpts } from 'node:net'
import { isVaultError, VaultError } from '../../core/errors.ts'
import type { FileScanner } from '../../core/ports/blobs.ts'
import { readOptions } from '../../core/util/options.ts'
import type { Signal } from '../../core/util/signal.ts'
import { cancelledError, settingsError } from './clamd-connection.ts'
import { encryptedZip, nestedZip, streamFile } from './stream-file.ts'

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

/** Where clamd listens: `TCPAddr` and `TCPSocket` of its configuration, or its `LocalSocket`. */
export type ClamdAddress = { readonly host: string; readonly port: number } | { readonly socket: string }

/** Limits of `clamdScanner`. */
export interface ClamdOptions {
  /**
   * Longest wait for clamd, in milliseconds: to connect, to take the next 64 KiB, and for its verdict. From 1 to 2,147,483,647. Longer than
   * its MaxScanTime. Default 120,000.
   */
  readonly timeoutMs?: number
  /** Length of the longest file that is sent, in bytes: its StreamMaxLength. Longer files are `unscannable`. Default 2,147,483,645, which is the maximum. */
  readonly maxBytes?: number
}

const DEFAULT_TIMEOUT_MS = 120_000
const MAX_TIMEOUT_MS = 2_147_483_647
/** Length of the longest file that ClamAV scans, whatever its settings. Source: `scan_common` of libclamav. */
const MAX_BYTES = 2_147_483_645
const MAX_PORT = 65_535

/** Returns where to connect to. Throws `invalid_request` for anything else than an address. */
function parseAddress(address: ClamdAddress): NetConnectOpts {
  const { host, port, socket } = readOptions<{ host?: unknown; port?: unknown; socket?: unknown }>(
    address,
    ['host', 'port', 'socket'],
    {
      of: 'clamdScanner',
    },
  )
  if (isText(socket) && host === undefined && port === undefined) return { path: socket }
  if (isText(host) && isWhole(port, MAX_PORT) && socket === undefined) return { host, port, noDelay: true }
  throw new VaultError('invalid_request', 'clamdScanner: expected `host` and `port` (1 to 65535), or `socket` (a path).')
}

/** Returns the limits to use. Throws `invalid_request` for one that is not valid. */
export function parseLimits(options: ClamdOptions): Required<ClamdOptions> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, maxBytes = MAX_BYTES } = readOptions(options, ['timeoutMs', 'maxBytes'], {
    of: 'clamdScanner',
  })
  if (!isWhole(timeoutMs, MAX_TIMEOUT_MS))
    throw new VaultError('invalid_request', `clamdScanner: \`timeoutMs\` must be a whole number from 1 to ${MAX_TIMEOUT_MS}.`)
  if (!isWhole(maxBytes, MAX_BYTES))
    throw new VaultError('invalid_request', `clamdScanner: \`maxBytes\` must be a whole number from 1 to ${MAX_BYTES}.`)
  return { timeoutMs, maxBytes }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isWhole(value: unknown, max: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max
}

/** More than MaxRecursion can be. Source: libclamav, CLI_MAX_MAXREC. */
const NESTING = 120

/** Scans two harmless files that clamd cannot read. Throws `unavailable` if it calls one of them clean. */
async function checkSettings(address: NetConnectOpts, timeoutMs: number, signal: Signal): Promise<void> {
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
