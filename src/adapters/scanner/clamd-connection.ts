/** One connection to clamd: sends bytes no faster than it takes them, and ends with its verdict or with an error that quotes nothing, whatever happens first. */
import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { VaultError } from '../../core/errors.ts'
import type { ScanVerdict } from '../../core/ports/blobs.ts'
import { bareCause, errorCode } from '../../core/util/causes.ts'

/** More than the longest reply, in bytes: a name of a signature and a few words. */
const MAX_REPLY_BYTES = 4096

/** A connection. Its methods resolve when it has ended, and throw nothing, except `verdict`. */
export interface ClamdConnection {
  /** True after a verdict or an error. Nothing is sent after that. */
  readonly hasEnded: boolean
  /** Sends bytes. Resolves when the system has taken them, so that they can be overwritten. */
  send(bytes: readonly Uint8Array[]): Promise<void>
  /** Returns the result of other work; undefined if the connection ends before it. Throws what the work throws. */
  during<T>(work: Promise<T>): Promise<T | undefined>
  /** Sends the last bytes, and returns the verdict. Throws the error that the connection has ended with. */
  verdict(lastBytes: Uint8Array): Promise<ScanVerdict>
  /** Ends the connection with this error, unless it has ended. */
  end(error: VaultError): void
}

/** What a connection ends with. */
type Ending = ScanVerdict | VaultError

/** Opens a connection. `timeoutMs`: longest wait for progress. The caller ends it. */
export function openConnection(address: NetConnectOpts, timeoutMs: number): ClamdConnection {
  const socket = connect(address)
  const waiting = new Set<() => void>()
  let ending: Ending | undefined
  let isLastSent = false
  let timer: NodeJS.Timeout | undefined

  function end(given: Ending): void {
    if (ending !== undefined) return
    ending = given
    clearTimeout(timer)
    socket.destroy()
    for (const resume of waiting) resume()
    waiting.clear()
  }

  /** Resolves when `start` calls back, or at the end. */
  function until(start: (resume: () => void) => void): Promise<void> {
    return new Promise((resolve) => {
      if (ending !== undefined) return resolve()
      const resume = (): void => {
        waiting.delete(resume)
        resolve()
      }
      waiting.add(resume)
      start(resume)
    })
  }

  /** The same, within the time limit. */
  async function untilProgress(start: (resume: () => void) => void): Promise<void> {
    timer = setTimeout(() => end(stalledError(timeoutMs)), timeoutMs)
    await until(start)
    clearTimeout(timer)
  }

  readReply(socket, () => isLastSent && socket.writableLength === 0, end)

  return {
    get hasEnded() {
      return ending !== undefined
    },
    send: (bytes) => untilProgress((resume) => writeAll(socket, bytes, resume)),
    async during<T>(work: Promise<T>) {
      const done = work.then((value) => ({ value }))
      done.catch(() => {}) // After the end its failure does not matter.
      let result: { readonly value: T } | undefined
      let failure: { readonly error: unknown } | undefined
      await until((resume) =>
        done.then(
          (value) => {
            result = value
            resume()
          },
          (error: unknown) => {
            failure = { error }
            resume()
          },
        ),
      )
      if (failure !== undefined) throw failure.error
      return result?.value
    },
    async verdict(lastBytes) {
      await untilProgress(() => {
        isLastSent = true
        writeAll(socket, [lastBytes], () => {})
      })
      if (ending === undefined || ending instanceof VaultError) throw ending ?? lostError()
      return ending
    },
    end,
  }
}

/** Writes several parts as one. `taken` is called when the system has taken all; after an error, the connection ends. */
function writeAll(socket: Socket, parts: readonly Uint8Array[], taken: () => void): void {
  socket.cork()
  for (const [index, part] of parts.entries()) {
    if (index < parts.length - 1) socket.write(part)
    else socket.write(part, (error) => (error === undefined || error === null ? taken() : undefined))
  }
  socket.uncork()
}

/**
 * Ends a connection with its reply, or with the error that is in the place of one. A verdict that the file is clean counts only after all
 * of it is sent, and when clamd has closed the connection behind it: more could follow.
 */
function readReply(socket: Socket, isAllSent: () => boolean, end: (ending: Ending) => void): void {
  let reply = ''
  let isConnected = false
  let isClean = false
  socket.setEncoding('latin1')
  socket.on('connect', () => {
    isConnected = true
  })
  socket.on('data', (text: string) => {
    reply += text
    const length = reply.indexOf('\0')
    if (isClean || reply.length > MAX_REPLY_BYTES || (length !== -1 && length < reply.length - 1))
      return end(malformedReplyError())
    if (length === -1) return
    const verdict = readVerdict(reply.slice(0, length))
    if (verdict !== 'clean') return end(verdict)
    if (!isAllSent()) return end(earlyReplyError())
    isClean = true
  })
  socket.on('end', () => end(isClean ? 'clean' : lostError()))
  socket.on('error', (error) => end(isConnected ? lostError(error) : unreachableError(error)))
  socket.on('close', () => end(lostError()))
}

const FOUND = /^stream: ([\x20-\x7e]+) FOUND$/
const ERROR = /^[\x20-\x7e]* ERROR$/
const TOO_LONG = 'INSTREAM size limit exceeded. ERROR'

/** Names that clamd gives to files that it could not read to their end: too large, nested too deeply, or encrypted. */
const NOT_READ = /^Heuristics\.(?:Limits\.Exceeded|Encrypted)\b/

/** Returns the verdict of a reply, without its final zero byte. Any reply that is not of the protocol or that reports an error is an error. */
function readVerdict(reply: string): ScanVerdict | VaultError {
  if (reply === 'stream: OK') return 'clean'
  if (reply === TOO_LONG) return 'unscannable'
  const name = FOUND.exec(reply)?.[1]
  if (name !== undefined) return NOT_READ.test(name) ? 'unscannable' : 'infected'
  return ERROR.test(reply) ? reportedError() : malformedReplyError()
}

/** `unavailable`: no connection. `error` is the platform's. */
function unreachableError(error: unknown): VaultError {
  return unavailable('clamd cannot be reached. Start it, or correct its address, then retry.', error)
}

/** `unavailable`: the connection ended before the whole reply. */
export function lostError(error?: unknown): VaultError {
  return unavailable('clamd ended the connection before its reply. Look at its log, then retry.', error)
}

/** `unavailable`: nothing happened for as long as `timeoutMs` says. */
function stalledError(timeoutMs: number): VaultError {
  return unavailable(`clamd made no progress for ${timeoutMs} ms. Look at its log and load, then retry.`)
}

/** `unavailable`: clamd called a file clean that it had not read to its end. */
function earlyReplyError(): VaultError {
  return unavailable('clamd replied before it had the whole file. Check that the address is that of a clamd, then retry.')
}

/** `unavailable`: a reply that is not of the protocol. */
function malformedReplyError(): VaultError {
  return unavailable('The reply is not one of clamd. Check that the address is that of a clamd, then retry.')
}

/** `unavailable`: clamd failed. */
function reportedError(): VaultError {
  return unavailable('clamd reported an error. Look at its log, then retry.')
}

/** `unavailable`: clamd calls files clean that it does not read. */
export function settingsError(what: string, settings: string): VaultError {
  return unavailable(`clamd calls ${what} clean. Set ${settings} in its configuration and start it again, then retry.`)
}

/** `cancelled`: the caller gave up. */
export function cancelledError(): VaultError {
  return new VaultError('cancelled', 'The scan was cancelled.')
}

/** `internal`: the content of a file does not have the length that was said. */
export function lengthError(): VaultError {
  return new VaultError(
    'internal',
    'The content of the scanned file does not have the length of the file. This is a defect; please report it.',
  )
}

function unavailable(message: string, error?: unknown): VaultError {
  return new VaultError(
    'unavailable',
    message,
    {},
    error === undefined ? {} : { cause: bareCause(`The connection failed: ${codeOf(error)}`) },
  )
}

/** The code of an error of the platform, such as ECONNREFUSED. Its text is left out. */
function codeOf(error: unknown): string {
  return errorCode(error) ?? 'no code'
}
