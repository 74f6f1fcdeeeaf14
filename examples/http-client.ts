/** Sends requests to a server, and prints each with its response as a person reads them. */
import { paint } from './terminal.ts'

/** What a request has beside its method and path. */
export interface Sent {
  /** A form is sent as `multipart/form-data`, anything else as JSON. */
  readonly body?: unknown
  /** Default: the credential of the client. `null` for none. */
  readonly credential?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

/** A response whose body is read. */
export interface Received {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown
}

/** Sends a request to a path, or to a whole URL, and prints it with its response. */
export type Send = (method: string, target: string, sent?: Sent) => Promise<Received>

/** Maximum characters of a line, of a text in a body, and of a target. */
const MAX_LINE_LENGTH = 116
const MAX_TEXT_LENGTH = 44
const MAX_TARGET_LENGTH = 100
/** Spaces before the body: the method or the status comes there. */
const INDENT = 10

/** Returns how requests are sent to a server. */
export function createClient(base: string, credential: string): Send {
  return async (method, target, sent = {}) => {
    const url = new URL(target, base)
    print(method, shorten(`${url.pathname}${decodeURIComponent(url.search)}`, MAX_TARGET_LENGTH))
    if (sent.body instanceof FormData) print('', describeForm(sent.body))
    else if (sent.body !== undefined) print('', inline(sent.body))
    const response = await fetch(url, toRequest(method, { credential, ...sent }))
    const received = await read(response)
    print(String(received.status), received.json === undefined ? describeFile(received) : inline(received.json))
    console.log('')
    return received
  }
}

/** Returns the text at a path of members and positions. Throws if there is no text. */
export function textAt({ json, status }: Pick<Received, 'json' | 'status'>, ...path: readonly (string | number)[]): string {
  let place = json
  for (const name of path) place = typeof place === 'object' && place !== null ? Reflect.get(place, name) : undefined
  if (typeof place !== 'string') throw new Error(`The response with the status ${status} has no text at ${path.join('.')}.`)
  return place
}

function toRequest(method: string, { body, credential, headers }: Sent): RequestInit {
  const isForm = body instanceof FormData
  return {
    method,
    headers: {
      ...(credential === null ? {} : { authorization: `Bearer ${credential}` }),
      ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  }
}

async function read(response: Response): Promise<Received> {
  const bytes = new Uint8Array(await response.arrayBuffer())
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  const json: unknown = isJson ? JSON.parse(new TextDecoder().decode(bytes)) : undefined
  return { status: response.status, headers: response.headers, bytes, json }
}

function describeForm(form: FormData): string {
  const parts = [...form].map(([name, value]) => `${name}: ${typeof value === 'string' ? value : `${value.name}, ${value.size} bytes`}`)
  return `(form) ${parts.join('; ')}`
}

function describeFile({ headers, bytes }: Received): string {
  return `(${headers.get('content-type')}, ${bytes.length} bytes) ${headers.get('content-disposition')?.replace(/; filename\*.*/, '')}`
}

/** Returns JSON on one line with spaces, its long texts cut. */
function inline(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(shorten(value, MAX_TEXT_LENGTH))
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{ ${Object.entries(value)
    .map(([name, member]) => `${name}: ${inline(member)}`)
    .join(', ')} }`
}

function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}

/** Prints a label and a text, which is broken between words. */
function print(label: string, text: string): void {
  const width = MAX_LINE_LENGTH - INDENT
  const [, head = text, tail = ''] =
    text.length > width ? (new RegExp(`^(.{1,${width}}) (.*)$`, 's').exec(text) ?? []) : []
  console.log(`   ${paint(36, label.padEnd(INDENT - 3))}${head}`)
  if (tail !== '') print('', tail)
}
