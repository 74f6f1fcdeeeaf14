/** The headers of a download: whatever the content is, a browser saves it and runs nothing of it. */
import type { OpenFileResult } from '../../index.ts'

/** Returns the headers of a file or of a part of it. */
export function downloadHeaders(
  { metadata, size, range }: Omit<OpenFileResult, 'stream'>,
  isPart: boolean,
): Record<string, string> {
  return {
    'content-type': metadata.fileType,
    'content-length': String(range.end - range.start),
    'content-disposition': dispositionOf(metadata.fileName),
    'accept-ranges': 'bytes',
    // A part that a proxy or a middleware compresses is not the part that was asked for.
    'cache-control': 'no-store, no-transform',
    ...(isPart ? { 'content-range': `bytes ${range.start}-${range.end - 1}/${size}` } : {}),
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  }
}

/** Returns an attachment with the name in both forms of RFC 6266: in ASCII, and in full as RFC 8187 encodes it. */
function dispositionOf(name: string): string {
  const visible = name.replace(UNSAFE, '_')
  const ascii = visible.replace(/[^\x20-\x7e]|["%\\]/g, '_')
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encode(visible)}`
}

/** Control characters, those that change the direction of text, and halves of a character. Stored names have none; a header does not rely on it. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

function encode(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
}
