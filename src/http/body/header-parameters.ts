/** Parses headers that have parameters: Content-Type, and the Content-Disposition of a part or of a request. */
import { VaultError } from '../../index.ts'
import { decodeUtf8 } from './body-bytes.ts'

/** Such a value. */
export interface ParameterizedValue {
  /** What comes before the parameters, in lower case. */
  readonly value: string
  /** By name in lower case. */
  readonly parameters: ReadonlyMap<string, string>
}

/**
 * A parameter with the semicolon behind it, or none between two semicolons. What follows a closing quote is ignored up to the next semicolon:
 * some clients do not escape quotes. A quote behind a backslash closes if no other one can: some send the path of a folder of Windows. No two parts
 * can match the same characters, so that a header of any length is read in one pass.
 */
const PARAMETER = /(?:([^\s=;"]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\[\s\S])*|[^"]*\\)"[^;]*|([^ \t";][^";]*)?))?(?:;[ \t]*|$)/y

/** Returns the value and its parameters. Returns undefined if a parameter is malformed or comes twice. */
export function parseParameters(header: string): ParameterizedValue | undefined {
  const start = header.indexOf(';')
  const value = (start < 0 ? header : header.slice(0, start)).trim().toLowerCase()
  const parameters = new Map<string, string>()
  const text = start < 0 ? '' : header.slice(start + 1).trimStart()
  for (let position = 0; position < text.length; position = PARAMETER.lastIndex) {
    PARAMETER.lastIndex = position
    const match = PARAMETER.exec(text)
    if (match === null) return undefined
    const [, written, quoted, plain] = match
    if (written === undefined) continue // Two semicolons, or one at the end.
    const name = written.toLowerCase()
    if (parameters.has(name)) return undefined
    // A backslash escapes only a quote and itself: some clients send paths of Windows as they are.
    parameters.set(name, quoted?.replace(/\\(["\\])/g, '$1') ?? plain?.trim() ?? '')
  }
  return { value, parameters }
}

/** Maximum length of the header of a part, in bytes. */
export const MAX_PART_HEADER_BYTES = 16_384
/** Maximum number of lines of it. */
export const MAX_PART_HEADER_LINES = 64

/** The lines of a header: values by name in lower case. */
export type PartHeaderLines = ReadonlyMap<string, readonly string[]>

/** What a header says of its part. */
export interface PartHeader {
  readonly key: string
  /** As the client sent it: any text. Undefined if the part has no file name. */
  readonly fileName: string | undefined
}

/**
 * Returns what the header says. Its values are bytes, one in each UTF-16 unit. Throws `invalid_request` for a header without a key, and
 * `limit_exceeded` for one that is too long.
 */
export function parsePartHeader(header: PartHeaderLines): PartHeader {
  assertShort(header)
  const [disposition, second] = header.get('content-disposition') ?? []
  const parsed = disposition === undefined || second !== undefined ? undefined : parseParameters(toText(disposition))
  const key = writtenText(parsed?.parameters.get('name'))
  if (parsed?.value !== 'form-data' || key === undefined) {
    throw new VaultError('invalid_request', 'A part of the multipart body has no valid Content-Disposition with a name.')
  }
  return { key, fileName: extendedText(parsed.parameters.get('filename*')) ?? writtenText(parsed.parameters.get('filename')) }
}

/** Returns the file name of the Content-Disposition of a request; undefined if it has none. Source: RFC 6266. */
export function fileNameOf(disposition: string): string | undefined {
  const parameters = parseParameters(toText(disposition))?.parameters
  return extendedText(parameters?.get('filename*')) ?? parameters?.get('filename')
}

function assertShort(header: PartHeaderLines): void {
  const lines = [...header].flatMap(([name, values]) => values.map((value) => name.length + value.length + 4))
  const bytes = lines.reduce((sum, length) => sum + length, 0)
  if (bytes <= MAX_PART_HEADER_BYTES && lines.length <= MAX_PART_HEADER_LINES) return
  throw new VaultError('limit_exceeded', `The header of a part is longer than ${MAX_PART_HEADER_BYTES} bytes.`)
}

/** Returns bytes as UTF-8, as browsers send it; as Latin-1 if they are not UTF-8. */
function toText(bytes: string): string {
  return decodeUtf8(Uint8Array.from(bytes, (unit) => unit.charCodeAt(0))) ?? bytes
}

/** Returns the text of a parameter as forms of browsers write it: three characters are escaped, and no other. Source: HTML, "multipart form data". */
function writtenText(parameter: string | undefined): string | undefined {
  return parameter?.replace(/%(?:22|0D|0A)/g, decodeURIComponent)
}

/** Returns the text of an extended parameter in UTF-8 (RFC 5987); undefined for any other text. */
function extendedText(parameter: string | undefined): string | undefined {
  const encoded = parameter === undefined ? undefined : /^utf-8'[^']*'(.*)$/is.exec(parameter)?.[1]
  if (encoded === undefined) return undefined
  try {
    return decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}
