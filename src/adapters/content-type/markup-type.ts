/** Recognizes HTML, SVG, XML and PDF by the first thing in a file that is no white space, as a browser does, and active elements anywhere in a text. */

const WHITE_SPACE = /[\t\n\f\r ]*/y
const COMMENT = '<!--'
const INSTRUCTION = '<?'
/** The document type, and the name of its root. */
const DOCTYPE = /<!doctype[\t\n\f\r ]+([a-z_][\w:.-]{0,199})/iy
/** The tag of an element: its prefix and name, or its name alone. */
const ROOT = /<([a-z_][\w.-]{0,99})(?::([a-z_][\w.-]{0,99}))?(?=[\t\n\f\r />]|$)/iy

/** Elements of HTML with which a file can begin. Source: WHATWG, MIME Sniffing, and the elements that are common at the beginning. */
const HTML_ELEMENTS: ReadonlySet<string> = new Set(
  (
    'a abbr address applet article aside audio b base basefont bdo blink blockquote body br button canvas center cite code col dd del ' +
    'details dialog dir div dl dt em embed fieldset figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html i iframe ' +
    'image img input ins isindex kbd keygen label legend li link listing main map marquee math menu meta nav nobr noscript object ol p ' +
    'param picture plaintext pre q s samp script section select slot small source span strike strong style sub summary sup table tbody td ' +
    'template textarea tfoot th thead title tr track tt u ul var video wbr xmp'
  ).split(' '),
)

/** Elements that make a browser run code, load something, or show a form, wherever they are in an HTML file. */
const ACTIVE =
  /<(?:!doctype[\t\n\f\r ]+html|(?:[a-z_][\w.-]{0,30}:)?script|html|head|body|iframe|frame|frameset|object|embed|applet|svg|math|style|meta|link|base|form|img|image|video|audio)(?=[\t\n\f\r />])/i

/** Returns the type of a file that begins with markup or is a PDF file; undefined if it is neither. `text` has no byte order mark. */
export function markupType(text: string): string | undefined {
  const start = skipWhiteSpace(text, 0)
  if (text.startsWith('%PDF-', start)) return 'application/pdf'
  if (text[start] !== '<') return undefined
  const isDeclaredXml = text.startsWith('<?xml', start)
  const root = rootOf(text, start)
  if (root === 'svg') return 'image/svg+xml'
  if (root !== undefined && HTML_ELEMENTS.has(root)) return 'text/html'
  if (isDeclaredXml) return 'application/xml'
  // A browser takes a file that begins with a comment for HTML.
  if (text.startsWith(COMMENT, start) || (root !== undefined && ACTIVE.test(text))) return 'text/html'
  return root !== undefined && isElement(text, root) ? 'application/xml' : undefined
}

/** True for a text with an active element. It may be shown as HTML, even if it does not begin as HTML. */
export function hasActiveMarkup(text: string): boolean {
  return ACTIVE.test(text)
}

/** Returns the name of the document type or of the first element, in lower case and without a prefix; undefined if there is neither. */
function rootOf(text: string, start: number): string | undefined {
  let position = start
  while (position < text.length) {
    const doctype = matchAt(DOCTYPE, text, position)
    if (doctype !== undefined) {
      const name = localName(doctype)
      if (name === 'html' || name === 'svg') return name
      position = skipDoctype(text, position)
    } else if (text.startsWith(COMMENT, position)) position = after('-->', text, position + COMMENT.length)
    else if (text.startsWith(INSTRUCTION, position)) position = after('?>', text, position)
    else {
      const element = matchAt(ROOT, text, position)
      return element === undefined ? undefined : localName(element)
    }
    position = skipWhiteSpace(text, position)
  }
  return undefined
}

/** True if the element is closed somewhere: `<stdio.h>` is no markup. */
function isElement(text: string, root: string): boolean {
  return new RegExp(`</(?:[a-z_][\\w.-]{0,60}:)?${root.replaceAll('.', '\\.')}\\s*>|^\\s*<[^<>]*/>\\s*$`, 'i').test(text)
}

function localName(match: RegExpExecArray): string {
  const [, first = '', second] = match
  return (second ?? first.split(':').at(-1) ?? '').toLowerCase()
}

/** Returns the position behind a document type, whose subset in brackets can contain ">". */
function skipDoctype(text: string, position: number): number {
  const end = text.indexOf('>', position)
  if (end === -1) return text.length
  const subset = text.slice(position, end).indexOf('[')
  if (subset === -1) return end + 1
  const subsetEnd = text.indexOf(']', position + subset)
  return subsetEnd === -1 ? text.length : after('>', text, subsetEnd)
}

function skipWhiteSpace(text: string, position: number): number {
  return position + (matchAt(WHITE_SPACE, text, position)?.[0].length ?? 0)
}

/** Returns the position behind the next `end`; the end of the text if there is none. */
function after(end: string, text: string, position: number): number {
  const found = text.indexOf(end, position)
  return found === -1 ? text.length : found + end.length
}

function matchAt(sticky: RegExp, text: string, position: number): RegExpExecArray | undefined {
  sticky.lastIndex = position
  return sticky.exec(text) ?? undefined
}
