/** The records of a CSV text, by RFC 4180 and nothing beyond it: a record that is not written so is passed on with its problem. */
import type { SourceText } from './source-text.ts'
import { lineFeeds, refusedSource } from './source-text.ts'

/** A record of a CSV text. */
export interface CsvRecord {
  /** The line on which it begins, from 1. */
  readonly line: number
  readonly fields: readonly string[]
  /** The positions of empty fields that are in quotes. Absent: none. */
  readonly quotedEmpty?: readonly number[]
  /** Why it cannot be read, as a sentence without a value. */
  readonly problem?: string | undefined
}

const QUOTE = 0x22
const RETURN = 0x0d
const LINE_FEED = 0x0a

const BARE_QUOTE = 'A quote is inside a field that does not begin with one. Put the field in quotes, and write its quotes twice.'
const AFTER_QUOTE = 'A field goes on after its closing quote. Write a quote inside of a field twice.'
const BARE_RETURN = 'A carriage return is not followed by a line feed. End lines with LF or CRLF.'

/** True for a character that can be between two fields. */
export function isDelimiter(given: unknown): given is string {
  return typeof given === 'string' && given.length === 1 && !'"\r\n'.includes(given)
}

/** A record that is read. */
interface RecordDraft {
  readonly line: number
  readonly fields: string[]
  readonly quotedEmpty: number[]
  problem: string | undefined
}

/** Reads records one after the other. */
export class CsvRecords {
  readonly #source: SourceText
  readonly #delimiter: string

  constructor(source: SourceText, delimiter: string) {
    this.#source = source
    this.#delimiter = delimiter
  }

  /** Returns the next records, at most `limit`; none at the end. A blank line is one if `keepsBlank`. Throws for a quote that is never closed. */
  async read(limit: number, keepsBlank: boolean): Promise<CsvRecord[]> {
    const records: CsvRecord[] = []
    for (;;) {
      this.#scan(records, limit, keepsBlank)
      if (records.length === limit) return records
      if (await this.#source.more()) continue
      if (this.#source.at < this.#source.text.length)
        throw refusedSource(this.#source.line, 'a quote that opens in this record is never closed.')
      return records
    }
  }

  /** Adds the records that `text` has whole. */
  #scan(records: CsvRecord[], limit: number, keepsBlank: boolean): void {
    const source = this.#source
    const { text } = source
    const hasReturns = text.includes('\r', source.at)
    let quote = text.indexOf('"', source.at)
    while (records.length < limit) {
      const { at, line } = source
      const end = text.indexOf('\n', at)
      if (end < 0) return
      if (quote >= 0 && quote < end) {
        const read = this.#quoted(at, line)
        if (read === undefined) return
        records.push(read.record)
        source.line += lineFeeds(text, end, read.end)
        source.at = read.end
        quote = text.indexOf('"', read.end)
        continue
      }
      const row = text.slice(at, hasReturns ? beforeReturn(text, at, end) : end)
      if (row !== '' || keepsBlank) {
        const fields = row.split(this.#delimiter)
        records.push(hasReturns && row.includes('\r') ? { line, fields, problem: BARE_RETURN } : { line, fields })
      }
      source.at = end + 1
      source.line += 1
    }
  }

  /** Reads a record with quotes; undefined if its end is not in the text yet. */
  #quoted(from: number, line: number): { readonly record: CsvRecord; readonly end: number } | undefined {
    const record: RecordDraft = { line, fields: [], quotedEmpty: [], problem: undefined }
    for (let at = from; ; at++) {
      at = this.#field(at, record)
      if (at < 0) return undefined
      if (this.#source.text.charCodeAt(at) === LINE_FEED) return { record, end: at + 1 }
    }
  }

  /** Adds a field to a record, and returns the position behind it; -1 if that is not in the text yet. */
  #field(from: number, record: RecordDraft): number {
    const { text } = this.#source
    const isQuoted = text.charCodeAt(from) === QUOTE
    const closing = isQuoted ? closingQuote(text, from + 1) : from
    const end = closing < 0 ? -1 : this.#fieldEnd(isQuoted ? closing + 1 : from)
    if (end < 0) return -1
    const stop = text.charCodeAt(end) === LINE_FEED ? beforeReturn(text, from, end) : end
    if (isQuoted) {
      const value = text.slice(from + 1, closing)
      if (value === '') record.quotedEmpty.push(record.fields.length)
      record.fields.push(value.includes('"') ? value.replaceAll('""', '"') : value)
      if (stop !== closing + 1) record.problem ??= AFTER_QUOTE
    } else {
      const value = text.slice(from, stop)
      if (value.includes('"')) record.problem ??= BARE_QUOTE
      if (value.includes('\r')) record.problem ??= BARE_RETURN
      record.fields.push(value)
    }
    return end
  }

  /** Returns the position of the delimiter or line feed that ends a field; -1 if it is not in the text yet. */
  #fieldEnd(from: number): number {
    const { text } = this.#source
    const delimiter = this.#delimiter.charCodeAt(0)
    for (let at = from; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === delimiter || code === LINE_FEED) return at
    }
    return -1
  }
}

/** Returns the end of a line without the carriage return of its line end. */
function beforeReturn(text: string, from: number, end: number): number {
  return end > from && text.charCodeAt(end - 1) === RETURN ? end - 1 : end
}

/** Returns the position of the quote that closes a field; -1 if it is not in the text. */
function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) {
    // Text ends with a line feed, so that the character after a quote is always there.
    if (text.charCodeAt(at + 1) !== QUOTE) return at
  }
  return -1
}
