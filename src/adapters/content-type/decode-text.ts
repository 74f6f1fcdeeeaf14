/** Decodes the first bytes of a file as text, if they are text. */

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
export function decodeText(beginning: Uint8Array, isWhole: boolean): string | undefined {
  try {
    const decoder = new TextDecoder(markOf(beginning)?.encoding ?? 'utf-8', { fatal: true })
    const text = decoder.decode(beginning, { stream: !isWhole })
    return BINARY.test(text) ? undefined : text
  } catch {
    return undefined
  }
}

/** True for bytes that can be text of Shift-JIS or of Windows-1252, and of its relatives: without a mark, and without a character that no text has. */
export function isOlderText(beginning: Uint8Array, isWhole: boolean): boolean {
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
export function decodeForMarkup(beginning: Uint8Array): string {
  const mark = markOf(beginning)
  if (mark === undefined || mark.encoding === 'utf-8')
    return new TextDecoder('latin1').decode(beginning.subarray(mark?.bytes.length ?? 0))
  return new TextDecoder(mark.encoding).decode(beginning)
}

function markOf(beginning: Uint8Array): (typeof MARKS)[number] | undefined {
  return MARKS.find(({ bytes }) => bytes.every((byte, index) => beginning[index] === byte))
}
