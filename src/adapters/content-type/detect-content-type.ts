/** Detects the type of a file from its first bytes: markup first, then signatures of binary formats, then kinds of text. The name decides of text in older encodings alone. */
import type { ContentTypeDetector } from '../../core/ports/blobs.ts'
import { hasActiveMarkup, isJson, markupType, tableType } from './text-type.ts'

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

/** Types of a text in an encoding that its bytes do not show, by the extension of its name. */
const NAMED_TYPES: Readonly<Record<string, string>> = { csv: 'text/csv', tsv: 'text/tab-separated-values', txt: 'text/plain' }

/** Returns the type that the name says of such a text, or that of HTML, which is ASCII in all encodings; undefined if the name says nothing. */
function namedTextType(bytes: string, fileName: string): string | undefined {
  if (hasActiveMarkup(bytes)) return 'text/html'
  const extension = /\.([a-z]{3})$/i.exec(fileName)?.[1]?.toLowerCase() ?? ''
  return Object.hasOwn(NAMED_TYPES, extension) ? NAMED_TYPES[extension] : undefined
}

/** Returns the type of a text. `format` is a format that its signature says, such as a vCard; it is kept unless the text can be HTML. */
function textType(text: string, isWhole: boolean, format?: string): string {
  if (format !== undefined && !format.startsWith('text/')) return format
  // A browser never shows JSON as HTML, and its strings may well contain HTML.
  if (isJson(text, isWhole)) return 'application/json'
  if (hasActiveMarkup(text)) return 'text/html'
  return format ?? tableType(text, isWhole) ?? 'text/plain'
}

const GZIP = [0x1f, 0x8b, 0x08]
/** TIFF, in both byte orders. */
const TIFF = [
  [0x49, 0x49, 0x2a, 0x00],
  [0x4d, 0x4d, 0x00, 0x2a],
]

/** Returns the MIME type, in lower case and without parameters, of a format with a signature; undefined if there is none. Never throws. */
async function signatureType(beginning: Uint8Array): Promise<string | undefined> {
  // The package inflates a gzip file, up to 16 MiB, to look for an archive. The type is the same for all.
  if (startsWith(beginning, GZIP)) return 'application/gzip'
  const found = await packageType(beginning)
  // The package looks for the directory of a TIFF file, which most writers put at the end.
  if (found === undefined && TIFF.some((bytes) => startsWith(beginning, bytes))) return 'image/tiff'
  // The package takes the first entry that says something, and in many Android packages that is the one of any Java archive.
  if (found === 'application/java-archive' && isAndroidPackage(beginning)) return 'application/vnd.android.package-archive'
  return found?.split(';', 1)[0]?.trim().toLowerCase()
}

async function packageType(beginning: Uint8Array): Promise<string | undefined> {
  // Loaded for the first file, because it would double the time of importing this library.
  const { fileTypeFromBuffer } = await import('file-type')
  try {
    return (await fileTypeFromBuffer(beginning))?.mime
  } catch {
    return undefined // A malformed file, on which a parser of the package gives up.
  }
}

function isAndroidPackage(beginning: Uint8Array): boolean {
  const names = new TextDecoder('latin1').decode(beginning)
  return names.includes('AndroidManifest.xml') || names.includes('classes.dex')
}

function startsWith(bytes: Uint8Array, prefix: readonly number[]): boolean {
  return prefix.every((byte, index) => bytes[index] === byte)
}

/** Marks at the beginning of a text, and the encodings they are for. */
const MARKS = [
  { bytes: [0xef, 0xbb, 0xbf], encoding: 'utf-8' },
  { bytes: [0xff, 0xfe], encoding: 'utf-16le' },
  { bytes: [0xfe, 0xff], encoding: 'utf-16be' },
] as const

/** Characters that no text has. Source: WHATWG, MIME Sniffing, "binary data byte". */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters distinguish binary formats from text
const BINARY = /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/

/**
 * Returns the text of UTF-8, or of UTF-16 with a byte order mark, without the mark; undefined if the bytes are no text. A character that is
 * cut at the end is left out if the file has more bytes.
 */
function decodeText(beginning: Uint8Array, isWhole: boolean): string | undefined {
  try {
    const decoder = new TextDecoder(markOf(beginning)?.encoding ?? 'utf-8', { fatal: true })
    const text = decoder.decode(beginning, { stream: !isWhole })
    return BINARY.test(text) ? undefined : text
  } catch {
    return undefined
  }
}

/** True for bytes that can be text of Shift-JIS or of Windows-1252, and of its relatives: without a mark, and without a character that no text has. */
function isOlderText(beginning: Uint8Array, isWhole: boolean): boolean {
  if (markOf(beginning) !== undefined || BINARY.test(new TextDecoder('latin1').decode(beginning))) return false
  return beginning.every((byte) => !UNUSED.has(byte)) || isShiftJis(beginning, isWhole)
}

/** Bytes that Windows-1252 does not use, and DEL. */
const UNUSED: ReadonlySet<number> = new Set([0x7f, 0x81, 0x8d, 0x8f, 0x90, 0x9d])

function isShiftJis(beginning: Uint8Array, isWhole: boolean): boolean {
  try {
    new TextDecoder('shift_jis', { fatal: true }).decode(beginning, { stream: !isWhole })
    return true
  } catch {
    return false
  }
}

/** Returns the bytes as characters for a search of markup, which is ASCII in all encodings: also if they are not valid, as a browser does. */
function decodeForMarkup(beginning: Uint8Array): string {
  const mark = markOf(beginning)
  if (mark === undefined || mark.encoding === 'utf-8')
    return new TextDecoder('latin1').decode(beginning.subarray(mark?.bytes.length ?? 0))
  return new TextDecoder(mark.encoding).decode(beginning)
}

function markOf(beginning: Uint8Array): (typeof MARKS)[number] | undefined {
  return MARKS.find(({ bytes }) => bytes.every((byte, index) => beginning[index] === byte))
}
