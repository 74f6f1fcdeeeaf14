/** HTML text. Everything that is put into it is escaped, unless it is HTML text itself. */

/** HTML text. */
export interface Html {
  readonly html: string
}

/** What can be put into HTML text: text is escaped, and undefined is nothing. */
type Part = Html | string | number | undefined | readonly Part[]

/** Returns HTML text: `` html`<p>${text}</p>` ``. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { html: texts.map((text, index) => (index === 0 ? text : htmlOf(parts[index - 1]) + text)).join('') }
}

function htmlOf(part: Part): string {
  if (part === undefined) return ''
  if (typeof part === 'string' || typeof part === 'number') return escaped(String(part))
  return 'html' in part ? part.html : part.map(htmlOf).join('')
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Returns text that is no markup, in an element as in a quoted attribute. */
function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
