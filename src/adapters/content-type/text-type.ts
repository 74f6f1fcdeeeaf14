/** Distinguishes kinds of text: HTML, JSON, tables, and anything else. Markdown is not among them, because every text is valid Markdown. */
import { isJson } from './json-text.ts'
import { hasActiveMarkup } from './markup-type.ts'
import { tableType } from './table-text.ts'

/** Types of a text in an encoding that its bytes do not show, by the extension of its name. */
const NAMED_TYPES: Readonly<Record<string, string>> = { csv: 'text/csv', tsv: 'text/tab-separated-values', txt: 'text/plain' }

/** Returns the type that the name says of such a text, or that of HTML, which is ASCII in all encodings; undefined if the name says nothing. */
export function namedTextType(bytes: string, fileName: string): string | undefined {
  if (hasActiveMarkup(bytes)) return 'text/html'
  const extension = /\.([a-z]{3})$/i.exec(fileName)?.[1]?.toLowerCase() ?? ''
  return Object.hasOwn(NAMED_TYPES, extension) ? NAMED_TYPES[extension] : undefined
}

/** Returns the type of a text. `format` is a format that its signature says, such as a vCard; it is kept unless the text can be HTML. */
export function textType(text: string, isWhole: boolean, format?: string): string {
  if (format !== undefined && !format.startsWith('text/')) return format
  // A browser never shows JSON as HTML, and its strings may well contain HTML.
  if (isJson(text, isWhole)) return 'application/json'
  if (hasActiveMarkup(text)) return 'text/html'
  return format ?? tableType(text, isWhole) ?? 'text/plain'
}
