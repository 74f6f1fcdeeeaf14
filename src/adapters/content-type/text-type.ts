/** Distinguishes kinds of text: HTML, JSON, tables, and anything else. Markdown is not among them, because every text is valid Markdown. */
import { isJson } from './json-text.ts'
import { hasActiveMarkup } from './markup-type.ts'
import { tableType } from './table-text.ts'

/** Returns the type of a text. `format` is a format that its signature says, such as a vCard; it is kept unless the text can be HTML. */
export function textType(text: string, isWhole: boolean, format?: string): string {
  if (format !== undefined && !format.startsWith('text/')) return format
  // A browser never shows JSON as HTML, and its strings may well contain HTML.
  if (isJson(text, isWhole)) return 'application/json'
  if (hasActiveMarkup(text)) return 'text/html'
  return format ?? tableType(text, isWhole) ?? 'text/plain'
}
