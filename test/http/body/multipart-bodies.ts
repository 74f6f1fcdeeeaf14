/** Multipart bodies as clients write them. */
import type { HttpRequest } from '../../../src/http/router/http-message.ts'
import { requestOf } from './requests.ts'

export const BOUNDARY = '----strongroomTest7MA4YWxk'

/** Headers of a multipart request. */
export const MULTIPART = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` }

/** The parts of an upload to a record. */
export const UPLOAD = {
  file: 'file',
  fields: ['tableName', 'columnName', 'svcID', 'returnFileMetadata'],
  required: ['tableName', 'columnName'],
} as const

/** A part: its key, its content, and its file name. Or its whole header. */
export interface GivenPart {
  readonly key?: string
  readonly header?: string
  readonly content: string | Uint8Array
  readonly fileName?: string
}

/** Returns a field. */
export function field(key: string, content: string | Uint8Array): GivenPart {
  return { key, content }
}

/** Returns the file of an upload. */
export function file(content: string | Uint8Array, fileName = 'report.pdf'): GivenPart {
  return { key: 'file', content, fileName }
}

/** Returns the bytes of a body. */
export function bodyOf(parts: readonly GivenPart[], boundary = BOUNDARY): Uint8Array {
  const pieces = parts.flatMap((part) => [`--${boundary}\r\n${headerOf(part)}\r\n\r\n`, part.content, '\r\n'])
  return Buffer.concat([...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece)))
}

/** Returns a request with a body of parts, or with one as given. */
export function multipartRequest(body: readonly GivenPart[] | Uint8Array | AsyncIterable<Uint8Array>): HttpRequest {
  return requestOf({ headers: MULTIPART, body: isParts(body) ? bodyOf(body) : body })
}

function isParts(body: readonly GivenPart[] | Uint8Array | AsyncIterable<Uint8Array>): body is readonly GivenPart[] {
  return Array.isArray(body)
}

function headerOf({ key, header, fileName }: GivenPart): string {
  if (header !== undefined) return header
  const disposition = `Content-Disposition: form-data; name="${key}"`
  if (fileName === undefined) return disposition
  return `${disposition}; filename="${fileName}"\r\nContent-Type: application/octet-stream`
}
