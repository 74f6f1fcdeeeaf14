/** Files over HTTP: the content is the body itself, in both directions. */
import { VaultError } from '../core/errors.ts'
import type { OpenFileOptions, OpenFileResult, Signal } from '../index.ts'
import type { Body, Outgoing } from './transport.ts'
import { cancelled, lost } from './wire-errors.ts'

/** An upload, as a caller gives it. */
export interface GivenUpload {
  readonly table: string
  readonly column: string
  readonly id?: string | undefined
  readonly file: unknown
  readonly fileName?: string | undefined
  readonly returnFileMetadata?: boolean | undefined
  readonly signal?: Signal | undefined
}

/** Returns the request of an upload. Content that can be read only once is sent once. Throws `invalid_request` for anything that has no bytes. */
export function uploadRequest(given: GivenUpload): Omit<Outgoing<unknown>, 'read' | 'key'> {
  const { table, column, id, file, fileName = nameOf(file), returnFileMetadata, signal } = given
  const flag = returnFileMetadata === undefined ? undefined : String(returnFileMetadata)
  return {
    path: `uploadFile?${queryOf({ table, column, id, returnFileMetadata: flag })}`,
    method: 'POST',
    headers: {
      'content-type': 'application/octet-stream',
      ...(fileName === undefined ? {} : { 'content-disposition': `attachment; filename*=UTF-8''${encoded(fileName)}` }),
    },
    ...contentOf(file),
    signal,
  }
}

function queryOf(members: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(members)) if (value !== undefined) query.set(name, value)
  return query.toString()
}

/** Returns text as RFC 8187 encodes it. Half a character becomes the sign of an unknown one. */
export function encoded(text: string): string {
  return encodeURIComponent(text.replace(/[\uD800-\uDFFF]/gu, '\uFFFD')).replace(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16)}`,
  )
}

/** Returns the name of a File; undefined for anything else. */
function nameOf(file: unknown): string | undefined {
  const name: unknown = Reflect.get(Object(file), 'name')
  return typeof name === 'string' ? name : undefined
}

function contentOf(file: unknown): Pick<Outgoing<unknown>, 'body' | 'isOnce'> {
  if (file instanceof Uint8Array || file instanceof ArrayBuffer || file instanceof Blob) return { body: () => file as Body }
  const stream: unknown = Reflect.get(Object(file), 'stream')
  const source: unknown = typeof stream === 'function' ? Reflect.apply(stream, file, []) : file
  if (source instanceof ReadableStream) return { body: () => source, isOnce: true }
  if (isIterable(source)) return { body: () => streamOf(source), isOnce: true }
  throw new VaultError(
    'invalid_request',
    'Upload failed. file must be a Uint8Array, a Blob, a web stream, a Node stream, or another async iterable of bytes.',
  )
}

function isIterable(source: unknown): source is AsyncIterable<Uint8Array> {
  return typeof Reflect.get(Object(source), Symbol.asyncIterator) === 'function'
}

function streamOf(source: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await chunks.return?.()
    },
  })
}

/** The file that is opened. */
export interface GivenFile {
  readonly table: string
  readonly id: string
  readonly column: string
  readonly options?: OpenFileOptions
}

/** Returns the request that opens a file. It always has a range: its response then says how long the file is, also through a proxy that sends chunks. */
export function openRequest({ options = {}, ...place }: GivenFile): Outgoing<OpenFileResult> {
  const { range = { start: 0 }, signal } = options
  return {
    path: `openFile?${queryOf(place)}`,
    method: 'GET',
    headers: {
      range: 'last' in range ? `bytes=-${range.last}` : `bytes=${range.start}-${range.end === undefined ? '' : range.end - 1}`,
    },
    key: undefined,
    signal,
    read: async (response) => openedOf(response, signal),
  }
}

function openedOf({ headers, body }: Response, signal: Signal | undefined): OpenFileResult {
  const [, first, last, whole] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers.get('content-range') ?? '') ?? []
  if (first === undefined || body === null)
    throw new VaultError(
      'internal',
      'Request failed. The file came without its range. Let the server, and CORS, pass on content-range.',
    )
  const range = { start: Number(first), end: Number(last) + 1 }
  const size = Number(whole)
  const [, fileName = ''] = /filename\*=UTF-8''([^;]*)/.exec(headers.get('content-disposition') ?? '') ?? []
  const metadata = {
    fileName: decodeURIComponent(fileName),
    fileSizeKB: Math.ceil(size / 1024),
    fileType: headers.get('content-type') ?? '',
  }
  return { stream: bytesOf(body, range.end - range.start, signal), metadata, size, range }
}

/** Yields the bytes. Throws `unavailable` if they end early, and `cancelled` after an abort. */
async function* bytesOf(
  body: ReadableStream<Uint8Array>,
  length: number,
  signal: Signal | undefined,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader()
  const stop = (): void => void reader.cancel().catch(() => {})
  signal?.addEventListener?.('abort', stop)
  let received = 0
  try {
    for (;;) {
      if (signal?.aborted === true) throw cancelled()
      const { done, value } = await reader.read()
      if (done) break
      received += value.length
      yield value
    }
    if (received < length) throw new Error('too short')
  } catch (error) {
    if (VaultError.isGenuine(error)) throw error
    throw signal?.aborted === true ? cancelled() : lost(false, 'The file ended early.', error)
  } finally {
    signal?.removeEventListener?.('abort', stop)
    stop()
  }
}
