/** Responses with a JSON body, of which a long list is written in slices with turns of the event loop between, and the headers of every response. */
import type { HttpResponse } from './http-message.ts'

/** Returns a response whose body is JSON that can be long. Without a promise if it is short. */
export function longJsonResponse(status: number, body: unknown): HttpResponse | Promise<HttpResponse> {
  const text = jsonBody(body)
  if (text instanceof Promise) return text.then((bytes) => ({ status, headers: JSON_HEADERS, body: bytes }))
  return { status, headers: JSON_HEADERS, body: text }
}

/** Returns a response whose body is short JSON. */
export function jsonResponse(status: number, body: unknown): HttpResponse {
  return { status, headers: JSON_HEADERS, body: JSON.stringify(body) }
}

/** The headers of such a response. */
const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' } as const

/** Length of the text that is written in one turn, approximately. An item of a list is written in one turn, however long it is. */
const MAX_LENGTH = 256 * 1024
/** Factor by which the number of items grows that are written at once. The first is written alone: it shows how long they are. */
const GROWTH = 4
/** Bytes that are copied in one turn, approximately. */
const MAX_COPIED = 8 * 1024 * 1024

/** Returns the text of a body, as `JSON.stringify` writes it. A text that takes several turns is a promise of its UTF-8. */
export function jsonBody(body: unknown): string | Promise<Uint8Array> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return JSON.stringify(body)
  const pieces = piecesOf(body)
  let text = ''
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
    if (text.length > MAX_LENGTH) return encodeAll(text + next.value, pieces)
    text += next.value
  }
  return text
}

/** Yields the text of an object in pieces. A list of several items has several. */
function* piecesOf(body: object): Generator<string, undefined> {
  let before = '{'
  for (const [name, value] of Object.entries(body)) {
    const label = `${before}${JSON.stringify(name)}:`
    if (Array.isArray(value) && value.length > 1) {
      yield `${label}[`
      yield* itemsOf(value)
      yield ']'
    } else {
      const text: string | undefined = JSON.stringify(value)
      if (text === undefined) continue
      yield label + text
    }
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}

/** Yields the items of a list with the commas between them. */
function* itemsOf(list: readonly unknown[]): Generator<string, undefined> {
  let count = 1
  for (let start = 0; start < list.length; ) {
    const items = list.slice(start, start + count)
    const text = JSON.stringify(items)
    // Without the brackets.
    yield (start === 0 ? '' : ',') + text.slice(1, -1)
    start += items.length
    const fitting = Math.floor((MAX_LENGTH * items.length) / text.length)
    count = Math.max(1, Math.min(count * GROWTH, fitting))
  }
}

const encoder = new TextEncoder()

/** Encodes the text so far and the pieces that follow it, a slice in each turn. */
async function encodeAll(begun: string, pieces: Generator<string, undefined>): Promise<Uint8Array> {
  const slices = [encoder.encode(begun)]
  for (let next = pieces.next(); next.done !== true; ) {
    await nextTurn()
    let text = ''
    for (; next.done !== true && text.length <= MAX_LENGTH; next = pieces.next()) text += next.value
    slices.push(encoder.encode(text))
  }
  return join(slices)
}

/** Joins slices, some in each turn. */
async function join(slices: readonly Uint8Array[]): Promise<Uint8Array> {
  const bytes = new Uint8Array(slices.reduce((sum, { length }) => sum + length, 0))
  let end = 0
  let copied = 0
  for (const slice of slices) {
    if (copied > MAX_COPIED) {
      await nextTurn()
      copied = 0
    }
    bytes.set(slice, end)
    end += slice.length
    copied += slice.length
  }
  return bytes
}

/** Resolves in a later turn of the event loop, after pending input and output was handled. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
} as const

/** Those of a response with a JSON body, as nearly all are. One object is copied in fewer steps than two are merged. */
const OF_JSON = { ...HEADERS, ...JSON_HEADERS }

/** Returns a response with the id of its request and the headers that every response has. A route can set its own content policy. */
export function sealed({ status, headers, body }: HttpResponse, requestID: string): HttpResponse {
  const own = headers === JSON_HEADERS ? OF_JSON : { ...HEADERS, ...headers }
  return { status, headers: { ...own, 'x-request-id': requestID }, body }
}
