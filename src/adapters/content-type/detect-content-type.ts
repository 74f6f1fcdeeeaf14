/** Detects the type of a file from its first bytes: markup first, then signatures of binary formats, then kinds of text. The name decides of text in older encodings alone. */
import type { ContentTypeDetector } from '../../core/ports/blobs.ts'
import { decodeForMarkup, decodeText, isOlderText } from './decode-text.ts'
import { markupType } from './markup-type.ts'
import { signatureType } from './signature-type.ts'
import { namedTextType, textType } from './text-type.ts'

const UNKNOWN = 'application/octet-stream'

/**
 * Formats with a signature whose files can be text from beginning to end. A text that begins as any other format does, such as "BMW" or
 * "FORM 12", is a text: files of those formats have bytes that no text has.
 */
const TEXT_FORMATS: ReadonlySet<string> = new Set([
  'application/eps',
  'application/pdf',
  'application/pgp-encrypted',
  'application/postscript',
  'application/rtf',
  'application/x-deb',
  'application/x-ms-regedit',
  'application/x-unix-archive',
  'text/calendar',
  'text/vcard',
  'text/vtt',
])

/** Detects by content. A text that a browser may show as HTML or SVG is never called plain. */
export const contentTypeDetector: ContentTypeDetector = {
  async detect(beginning, isWhole, fileName) {
    if (beginning.length === 0) return UNKNOWN
    const bytes = decodeForMarkup(beginning)
    const markup = markupType(bytes)
    if (markup !== undefined) return markup
    const signature = await signatureType(beginning)
    const text = decodeText(beginning, isWhole)
    if (text === undefined && signature === undefined && isOlderText(beginning, isWhole))
      return namedTextType(bytes, fileName) ?? UNKNOWN
    if (text === undefined) return signature ?? UNKNOWN
    if (signature !== undefined && TEXT_FORMATS.has(signature)) return textType(text, isWhole, signature)
    return textType(text, isWhole)
  },
}
