/** Sends one file with the command INSTREAM: its content in pieces, each behind its length. Two small zip files are for trying a clamd. */
import type { NetConnectOpts } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { ScannedFile, ScanVerdict } from '../../core/ports/blobs.ts'
import { type ClamdConnection, cancelledError, lengthError, lostError, openConnection } from './clamd-connection.ts'

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

const LOCAL_HEADER_BYTES = 30
const CENTRAL_HEADER_BYTES = 46
const END_BYTES = 22
const NAME = new TextEncoder().encode('probe')
const TEXT = new TextEncoder().encode('This text is not encrypted, although its archive says so.')
const ENCRYPTED_FLAG = 1

/** Returns archives in each other, `depth` of them. */
export function nestedZip(depth: number): Uint8Array {
  let file = TEXT
  for (let level = 0; level < depth; level++) file = zipOf(file, 0)
  return file
}

/** Returns an archive whose one file is marked as encrypted. */
export function encryptedZip(): Uint8Array {
  return zipOf(TEXT, ENCRYPTED_FLAG)
}

/** Returns a zip file with one stored file. Source: PKWARE, APPNOTE.TXT, 4.3. */
function zipOf(content: Uint8Array, flags: number): Uint8Array<ArrayBuffer> {
  const localBytes = LOCAL_HEADER_BYTES + NAME.length + content.length
  const file = new Uint8Array(localBytes + CENTRAL_HEADER_BYTES + NAME.length + END_BYTES)
  const view = new DataView(file.buffer)
  view.setUint32(0, 0x04034b50, true)
  writeFields(view, 4, content, flags)
  file.set(NAME, LOCAL_HEADER_BYTES)
  file.set(content, LOCAL_HEADER_BYTES + NAME.length)
  view.setUint32(localBytes, 0x02014b50, true)
  view.setUint16(localBytes + 4, ZIP_VERSION, true)
  writeFields(view, localBytes + 6, content, flags)
  file.set(NAME, localBytes + CENTRAL_HEADER_BYTES)
  const end = file.length - END_BYTES
  view.setUint32(end, 0x06054b50, true)
  view.setUint16(end + 8, 1, true)
  view.setUint16(end + 10, 1, true)
  view.setUint32(end + 12, CENTRAL_HEADER_BYTES + NAME.length, true)
  view.setUint32(end + 16, localBytes, true)
  return file
}

const ZIP_VERSION = 20

/** The fields that both headers of a file share, in the same order. The checksum stays zero: clamd does not compare it. */
function writeFields(view: DataView, at: number, content: Uint8Array, flags: number): void {
  view.setUint16(at, ZIP_VERSION, true)
  view.setUint16(at + 2, flags, true)
  view.setUint32(at + 14, content.length, true)
  view.setUint32(at + 18, content.length, true)
  view.setUint16(at + 22, NAME.length, true)
}
