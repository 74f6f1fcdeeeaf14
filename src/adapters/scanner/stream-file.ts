/** Sends one file with the command INSTREAM: its content in pieces, each behind its length, and a length of zero at the end. */
import type { NetConnectOpts } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { ScannedFile, ScanVerdict } from '../../core/ports/blobs.ts'
import { type ClamdConnection, openConnection } from './clamd-connection.ts'
import { cancelledError, lengthError, lostError } from './scanner-errors.ts'

const COMMAND = new TextEncoder().encode('zINSTREAM\0')
/** Bytes of a length, big-endian. */
const LENGTH_BYTES = 4
const END = new Uint8Array(LENGTH_BYTES)
/** Length of the largest piece. A slow daemon that takes one within the time limit makes progress. */
const MAX_PIECE_BYTES = 64 * 1024

/** Sends a file on a connection of its own and returns the verdict. Errors of the content are rethrown unchanged. */
export async function streamFile(address: NetConnectOpts, timeoutMs: number, file: ScannedFile): Promise<ScanVerdict> {
  const connection = openConnection(address, timeoutMs)
  try {
    return await whileWanted(file, connection, async () => {
      await connection.send([COMMAND])
      await sendContent(connection, file)
      return connection.verdict(END)
    })
  } finally {
    connection.end(lostError())
  }
}

/** Runs work on a connection, which an abort ends at once. */
async function whileWanted<T>({ signal }: ScannedFile, connection: ClamdConnection, work: () => Promise<T>): Promise<T> {
  const end = (): void => connection.end(cancelledError())
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  try {
    return await work()
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/** Sends the whole content, unless the connection ends before. */
async function sendContent(connection: ClamdConnection, { content, size }: ScannedFile): Promise<void> {
  const iterator = content[Symbol.asyncIterator]()
  let sent = 0
  while (!connection.hasEnded) {
    const next = await connection.during(iterator.next())
    if (next === undefined) return abandon(iterator)
    if (next.done !== true) sent += next.value.length
    if (next.done === true ? sent !== size : sent > size) throw lengthError()
    if (next.done === true) return
    await sendChunk(connection, next.value)
  }
  await iterator.return?.().catch(() => {})
}

async function sendChunk(connection: ClamdConnection, chunk: Uint8Array): Promise<void> {
  for (let start = 0; start < chunk.length && !connection.hasEnded; start += MAX_PIECE_BYTES) {
    const piece = chunk.subarray(start, start + MAX_PIECE_BYTES)
    const length = new Uint8Array(LENGTH_BYTES)
    new DataView(length.buffer).setUint32(0, piece.length)
    // A reply that has arrived is read first: a write to a connection that is closed would lose it.
    await setImmediate()
    await connection.send([length, piece])
  }
}

/** Closes a content whose next chunk is still awaited. It cannot be waited for: it may never come. */
function abandon(iterator: AsyncIterator<Uint8Array>): void {
  iterator.return?.().catch(() => {})
}
