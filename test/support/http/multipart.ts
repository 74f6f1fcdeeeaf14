/** Multipart bodies for requests of tests. */
import { randomBytes } from 'node:crypto'

/** One part: its key, its content, and the name of its file, if it is one. */
export interface Part {
  readonly key: string
  readonly content: string | Uint8Array
  /** Written between quotes as it is. */
  readonly fileName?: string
}

/** A body and its headers. */
export interface MultipartRequest {
  readonly body: Buffer
  readonly headers: { readonly 'content-type': string }
}

/** Returns a body of these parts in this order. */
export function multipart(...parts: readonly Part[]): MultipartRequest {
  const boundary = `----test${randomBytes(8).toString('hex')}`
  const pieces = parts.flatMap(({ key, content, fileName }) => {
    const name = fileName === undefined ? '' : `; filename="${fileName}"\r\ncontent-type: application/octet-stream`
    return [Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; name="${key}"${name}\r\n\r\n`), content, '\r\n']
  })
  const body = Buffer.concat([...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece)))
  return { body, headers: { 'content-type': `multipart/form-data; boundary=${boundary}` } }
}
