/** Reads the body of a request as JSON. */
import { VaultError } from '../../index.ts'
import type { HttpRequest } from '../router/http-message.ts'
import { nextTurn } from '../router/json-response.ts'
import { bodyTooLong, decodeUtf8 } from './body-bytes.ts'
import { parseParameters } from './header-parameters.ts'
import { checkJsonValue, parseJsonText } from './parse-json-text.ts'

/** Options of reading a body. */
export interface JsonBodyOptions {
  /** Maximum length of the body, in bytes. */
  readonly maxBytes: number
  /** Maximum number of values of any kind. Default 100,000. */
  readonly maxValues?: number | undefined
}

const JSON_TYPE = 'application/json'

/** The content type of existing clients that post JSON by `curl --data`, or as they would post a form. */
const FORM = 'application/x-www-form-urlencoded'

/**
 * Returns the value of the body; undefined for no body or an empty one. JSON is also read from a form content type, if the body begins as a
 * list or an object does. What a parser of the host made of the body is checked and returned; members that came twice in one object cannot
 * be found then. Throws `invalid_request` for another content type, charset or encoding, invalid UTF-8 and invalid JSON, `limit_exceeded` for
 * a body that is too long, too deep or too large, and `cancelled` if the client goes away.
 */
export async function readJsonBody(request: HttpRequest, options: JsonBodyOptions): Promise<unknown> {
  const { body } = request
  const { maxBytes, maxValues } = options
  if (body === undefined) return undefined
  if (body.parsed !== undefined) return readParsed(request, body.parsed.value, options)
  const length = announcedLength(request)
  if (length === 0) return undefined
  if (length !== undefined && length > maxBytes) throw bodyTooLong(maxBytes)
  const announced = length === undefined ? undefined : jsonTypeOf(request)
  const bytes = await body.read(maxBytes)
  if (bytes.length > maxBytes) throw bodyTooLong(maxBytes)
  if (bytes.length === 0) return undefined
  const value = parseBytes(announced ?? jsonTypeOf(request), bytes, maxValues)
  if (bytes.length > LONG_BYTES) await nextTurn()
  return value
}

/** Bytes of a body after which others have their turn, before its request is performed. */
const LONG_BYTES = 256 * 1024

/** Returns what a parser of the host returned. Text and bytes are what it did not parse. */
function readParsed(request: HttpRequest, value: unknown, { maxBytes, maxValues }: JsonBodyOptions): unknown {
  if (value === undefined || value === '') return undefined
  const isBytes = value instanceof Uint8Array
  if (isBytes || typeof value === 'string') {
    if (value.length === 0) return undefined
    if (value.length > maxBytes) throw bodyTooLong(maxBytes)
    const type = jsonMediaTypeOf(request)
    return isBytes ? parseBytes(type, value, maxValues) : parseText(type, value, maxValues)
  }
  const isForm = jsonMediaTypeOf(request) === FORM
  checkJsonValue(value, maxValues === undefined ? {} : { maxValues })
  if (isForm && isParsedForm(value)) {
    throw new VaultError(
      'invalid_request',
      'The body is JSON, but a parser of forms read it before the vault did. Mount the vault before that parser, or send application/json.',
    )
  }
  return value
}

/** True if the names of a form hold the text of the JSON that it was. */
function isParsedForm(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).some(isListOrObject)
}

function parseBytes(type: string, bytes: Uint8Array, maxValues: number | undefined): unknown {
  const text = decodeUtf8(bytes)
  if (text === undefined) throw new VaultError('invalid_request', 'The body is not valid UTF-8.')
  return parseText(type, text, maxValues)
}

function parseText(type: string, text: string, maxValues: number | undefined): unknown {
  if (type === FORM && !isListOrObject(text)) {
    throw new VaultError('invalid_request', 'The body is not JSON. Send an object, with the content type application/json.')
  }
  return parseJsonText(text, maxValues)
}

function isListOrObject(text: string): boolean {
  return /^[ \t\r\n]*[[{]/.test(text)
}

/** The length that the request announces. Undefined if it announces none. */
function announcedLength(request: HttpRequest): number | undefined {
  const header = request.header('content-length')?.trim()
  return header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : undefined
}

/** Returns the content type of a body that is not encoded. Throws for one in which JSON is not sent. */
function jsonTypeOf(request: HttpRequest): string {
  const type = jsonMediaTypeOf(request)
  assertNotEncoded(request)
  return type
}

/** Throws `invalid_request` for a body with a content encoding: what it expands to has no limit. */
export function assertNotEncoded(request: HttpRequest): void {
  const encoding = request.header('content-encoding')?.trim().toLowerCase()
  if (encoding === undefined || encoding === '' || encoding === 'identity') return
  throw new VaultError('invalid_request', 'The body has a content encoding. Send it without one.')
}

/** Returns the content type. Throws for one in which JSON is not sent. */
function jsonMediaTypeOf(request: HttpRequest): string {
  const header = request.header('content-type') ?? ''
  // As nearly all clients send it: nothing to take apart.
  if (header === JSON_TYPE) return header
  const type = parseParameters(header)
  if (type === undefined || !/^application\/(?:json|[^\s/]+\+json|x-www-form-urlencoded)$/.test(type.value)) {
    throw new VaultError('invalid_request', 'The content type of the body is missing or not JSON. Send application/json.')
  }
  if (!/^(?:utf-?8)?$/i.test(type.parameters.get('charset') ?? '')) {
    throw new VaultError('invalid_request', 'The charset of the body is not UTF-8. Send UTF-8.')
  }
  return type.value
}
