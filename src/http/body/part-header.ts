/** Reads the header of one part of a multipart body, its key and the name of its file, and that name in the header of a request. */
import { VaultError } from '../../index.ts'
import { decodeUtf8 } from './decode-utf8.ts'
import { parseParameters } from './parse-parameters.ts'

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
