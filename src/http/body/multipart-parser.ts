/** Reads the parts of a multipart request as they arrive, piece by piece, without streams in between: what a piece holds is yielded before the next one is asked for. */
import { Dicer } from '@fastify/busboy'
import { VaultError } from '../../index.ts'
import type { HttpRequest } from '../router/http-message.ts'
import {
  MAX_PART_HEADER_BYTES,
  MAX_PART_HEADER_LINES,
  type PartHeader,
  parseParameters,
  parsePartHeader,
} from './header-parameters.ts'
import { assertNotEncoded } from './read-json-body.ts'

/** What a body holds, in its order: a part begins, it has data, it ends. */
export type PartEvent =
  | { readonly kind: 'part'; readonly header: PartHeader }
  | { readonly kind: 'data'; readonly data: Uint8Array }
  | { readonly kind: 'end' }

/** What RFC 2046 allows. */
const BOUNDARY = /^[ -~]{1,70}$/

/** Some servers pass on megabytes at once. The parser gets them in pieces, so that what it makes of one stays small. */
const MAX_PIECE = 65_536

/**
 * Yields what the parts hold. Nothing is read ahead: a slow reader slows the client down. When the reader leaves, the rest of the body is left
 * to the server. Throws `invalid_request` for a body that is not multipart or not whole, `limit_exceeded`, and `cancelled` if the client goes
 * away.
 */
export async function* readParts(request: HttpRequest): AsyncGenerator<PartEvent> {
  const type = parseParameters(request.header('content-type') ?? '')
  if (request.body === undefined || type?.value !== 'multipart/form-data') {
    throw new VaultError('invalid_request', 'The body is not multipart. Send multipart/form-data.')
  }
  const boundary = type.parameters.get('boundary') ?? ''
  if (!BOUNDARY.test(boundary))
    throw new VaultError('invalid_request', 'The content type multipart/form-data has no valid boundary.')
  assertNotEncoded(request)
  const parser = createMultipartParser(boundary)
  for await (const chunk of request.body.chunks()) {
    for (let start = 0; start < chunk.length; start += MAX_PIECE) yield* parser.write(chunk.subarray(start, start + MAX_PIECE))
  }
  yield* await parser.end()
}

/** A parser of one body. It holds no more than the header of one part and a beginning of a delimiter. */
export interface MultipartParser {
  /** Returns what the next piece of the body adds. Throws `invalid_request` and `limit_exceeded`. */
  write(piece: Uint8Array): readonly PartEvent[]
  /** Returns what the end of the body adds. Throws `invalid_request` if the body is truncated. */
  end(): Promise<readonly PartEvent[]>
}

/** Maximum number of parts of a body. */
const MAX_PARTS = 10
/** Maximum number of bytes in front of the first part, behind the last one, and of a header that does not end. */
const MAX_IDLE_BYTES = 65_536

/** A part that has begun and whose end is not returned yet. */
interface OpenPart {
  readonly stream: Dicer.PartStream
  header: PartHeader | undefined
  /** True once its beginning is returned. */
  isBegun: boolean
}

/** Returns a parser for the parts between these boundaries. */
function createMultipartParser(boundary: string): MultipartParser {
  const open: OpenPart[] = []
  let parts = 0
  let idleBytes = 0
  const dicer = new Dicer(settingsOf(boundary)).on('part', (stream) => {
    // What these functions throw passes through the library to the caller of `write`. The parser is not used after that.
    if (++parts > MAX_PARTS) throw new VaultError('limit_exceeded', `The multipart body has more than ${MAX_PARTS} parts.`)
    open.push(beginPart(stream))
  })
  const isWhole = endOf(dicer)
  const checkDelimiters = createDelimiterCheck(boundary)
  return {
    write(piece) {
      checkDelimiters(piece)
      if (piece.length > 0 && dicer.writable) dicer.write(piece)
      const events = takeEvents(open)
      idleBytes = events.length === 0 ? idleBytes + piece.length : 0
      if (idleBytes > MAX_IDLE_BYTES) {
        throw new VaultError('limit_exceeded', `The multipart body has more than ${MAX_IDLE_BYTES} bytes that are in no part.`)
      }
      return events
    },
    async end() {
      if (dicer.writable) dicer.end()
      if (!(await isWhole)) {
        throw new VaultError('invalid_request', 'The multipart body ends before its last boundary. Send it whole.')
      }
      return [...takeEvents(open), ...open.splice(0).map(endOfPart)]
    },
  }
}

/** Every piece is taken out of its part at once. So a part never waits to be read, and the parser never waits for it. */
function settingsOf(boundary: string): Dicer.Config {
  const settings = {
    boundary,
    maxHeaderPairs: MAX_PART_HEADER_LINES + 1,
    maxHeaderSize: 2 * MAX_PART_HEADER_BYTES,
    partHwm: Number.MAX_SAFE_INTEGER,
  }
  return settings
}

/** Resolves to true after the last boundary, and to false if the body ends before it. */
function endOf(dicer: Dicer): Promise<boolean> {
  return new Promise((resolve) => {
    dicer.on('finish', () => resolve(true))
    dicer.on('error', () => resolve(false))
  })
}

function beginPart(stream: Dicer.PartStream): OpenPart {
  const part: OpenPart = { stream, header: undefined, isBegun: false }
  stream.on('error', () => {}) // The parser has the same error.
  stream.on('header', (header) => {
    part.header = parsePartHeader(new Map(Object.entries(header)))
  })
  return part
}

/** Returns what was added since the last call. All parts but the last one have ended. */
function takeEvents(open: OpenPart[]): PartEvent[] {
  const events: PartEvent[] = []
  for (const [index, part] of open.entries()) {
    if (part.header !== undefined && !part.isBegun) {
      part.isBegun = true
      events.push({ kind: 'part', header: part.header })
    }
    for (let data: unknown = part.stream.read(); data instanceof Uint8Array; data = part.stream.read()) {
      events.push({ kind: 'data', data })
    }
    if (index < open.length - 1) events.push(endOfPart(part))
  }
  open.splice(0, open.length - 1)
  return events
}

function endOfPart({ header }: OpenPart): PartEvent {
  if (header === undefined) throw new VaultError('invalid_request', 'A part of the multipart body ends within its header.')
  return { kind: 'end' }
}

const DASH = '-'.charCodeAt(0)

/**
 * Returns a function that checks the next piece of a body, and throws `invalid_request` for a delimiter with one dash, which is neither one of
 * a part nor the last one, wherever the pieces are cut. The multipart library takes what follows the dash for one thing or another, as the pieces happen to be.
 */
function createDelimiterCheck(boundary: string): (piece: Uint8Array) => void {
  const delimiter = Buffer.from(`\r\n--${boundary}-`, 'latin1')
  let tail = Buffer.from('\r\n')
  return (piece) => {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
    const seam = Buffer.concat([tail, bytes.subarray(0, delimiter.length)])
    if (hasLoneDash(seam, delimiter) || hasLoneDash(bytes, delimiter)) {
      throw new VaultError(
        'invalid_request',
        'A delimiter of the multipart body has one dash behind its boundary. Send none, or two after the last part.',
      )
    }
    tail = Buffer.from((bytes.length < delimiter.length ? seam : bytes).subarray(-delimiter.length))
  }
}

/** Returns whether a byte other than a dash follows `delimiter`, which ends with a dash, in `bytes`. */
function hasLoneDash(bytes: Buffer, delimiter: Buffer): boolean {
  for (let at = bytes.indexOf(delimiter); at >= 0; at = bytes.indexOf(delimiter, at + 1)) {
    const next = bytes[at + delimiter.length]
    if (next !== undefined && next !== DASH) return true
  }
  return false
}
