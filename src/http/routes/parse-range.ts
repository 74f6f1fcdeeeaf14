/** Parses the Range header of a download. Source: RFC 9110, section 14. */
import type { OpenFileOptions } from '../../index.ts'

/** The part of a file that a request asks for. */
export type FileRange = NonNullable<OpenFileOptions['range']>

/**
 * Returns the one range of a header; undefined for no header, for several ranges and for anything that is no range of bytes: the whole
 * file answers these. With `If-Range` too, because a file has no validator that it could match.
 */
export function parseRange(header: string | undefined, ifRange: string | undefined): FileRange | undefined {
  if (header === undefined || ifRange !== undefined) return undefined
  const [, first = '', last = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header) ?? []
  if (first === '') return last === '' ? undefined : { last: Math.min(Number(last), Number.MAX_SAFE_INTEGER) }
  const start = Math.min(Number(first), Number.MAX_SAFE_INTEGER)
  if (last === '') return { start }
  const end = Number(last) + 1
  if (end <= Number(first)) return undefined
  return Number.isSafeInteger(end) ? { start, end } : { start }
}
