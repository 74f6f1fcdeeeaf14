/** The text of a source: UTF-8 bytes as they come, in pieces of whole lines, with a digest of what was read. */
import { createHash } from 'node:crypto'
import { VaultError } from '../core/errors.ts'

/** Longest record, in bytes: a quote that is never closed must not hold the rest of a source in memory. */
const MAX_RECORD_BYTES = 16 * 1024 * 1024
const LINE_FEED = 0x0a

/** Returns an error of a source, which names the line, from 1. */
export function refusedSource(line: number, sentence: string): VaultError {
  return new VaultError('invalid_request', `Import failed. Line ${line}: ${sentence}`)
}

/** Text that is read from `at` on. Its readers move `at` behind each record, and `line` with it. */
export class SourceText {
  text = ''
  at = 0
  /** The line at `at`, from 1. */
  line = 1
  /** Bytes that were taken from the source. */
  bytes = 0
  /** True if all of the source is in `text`. */
  #isLast = false
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  readonly #hash = createHash('sha256')
  /** The end of a chunk that is no whole line yet. */
  #rest: Uint8Array[] = []
  #restBytes = 0
  /** Where the text begins that is not in the digest. */
  #hashed = 0
  /** True once text was decoded. */
  #isBegun = false

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]()
  }

  /** Adds whole lines to `text`, and moves `at` to its beginning. Returns false at the end of the source. Throws for bytes that are not UTF-8. */
  async more(): Promise<boolean> {
    while (!this.#isLast) {
      if (this.text.length - this.at > MAX_RECORD_BYTES || this.#restBytes > MAX_RECORD_BYTES)
        throw refusedSource(this.line, `a record is longer than ${MAX_RECORD_BYTES} bytes. Is a quote not closed?`)
      const next = await this.#chunks.next()
      if (next.done === true) {
        this.#isLast = true
        this.#add(this.#taken())
        return this.text.length > 0
      }
      const chunk: Uint8Array = next.value
      if (!(chunk instanceof Uint8Array)) throw new VaultError('invalid_request', 'Import failed. The source must yield bytes.')
      this.bytes += chunk.length
      const end = chunk.lastIndexOf(LINE_FEED) + 1
      if (end === 0) {
        this.#keep(chunk)
        continue
      }
      this.#keep(chunk.subarray(0, end))
      const whole = this.#taken()
      // A source can reuse its memory.
      this.#keep(chunk.slice(end))
      this.#add(whole)
      return true
    }
    return false
  }

  /** Returns the SHA-256 of the text before `at`, without the byte order mark, as hex digits. */
  digest(): string {
    this.#hash.update(this.text.slice(this.#hashed, this.at))
    this.#hashed = this.at
    return this.#hash.copy().digest('hex')
  }

  /** Ends the source early. */
  async close(): Promise<void> {
    await this.#chunks.return?.()
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.#rest.push(bytes)
    this.#restBytes += bytes.length
  }

  #taken(): Uint8Array {
    const whole = Buffer.concat(this.#rest)
    this.#rest = []
    this.#restBytes = 0
    return whole
  }

  #add(bytes: Uint8Array): void {
    let text = this.#decode(bytes)
    if (!this.#isBegun && text.charCodeAt(0) === BYTE_ORDER_MARK) text = text.slice(1)
    this.#isBegun = true
    this.#hash.update(this.text.slice(this.#hashed, this.at))
    this.#hashed = 0
    // A last line without an end counts like one with it.
    const end = this.#isLast && text.length > 0 && !text.endsWith('\n') ? '\n' : ''
    this.text = this.at === this.text.length ? text + end : this.text.slice(this.at) + text + end
    this.at = 0
  }

  #decode(bytes: Uint8Array): string {
    try {
      return this.#decoder.decode(bytes)
    } catch {
      throw refusedSource(this.#lineOf(bytes), 'the bytes are not UTF-8. Convert the source, and run the import again.')
    }
  }

  /** Returns the first line that is not UTF-8. A line feed is one byte, so that lines can be decoded one by one. */
  #lineOf(bytes: Uint8Array): number {
    let line = this.line + lineFeeds(this.text, this.at, this.text.length)
    for (let at = 0; at < bytes.length; line++) {
      const end = bytes.indexOf(LINE_FEED, at) + 1 || bytes.length
      try {
        this.#decoder.decode(bytes.subarray(at, end))
      } catch {
        return line
      }
      at = end
    }
    return line
  }
}

const BYTE_ORDER_MARK = 0xfeff

/** Returns the number of line feeds in a part of a text. */
export function lineFeeds(text: string, from: number, to: number): number {
  let count = 0
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) count++
  return count
}
