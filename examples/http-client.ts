/** Sends requests to a server, and prints each with its response as a person reads them. */
import { layoutJson } from './layout-json.ts'
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

/** Maximum characters of a line of a body, of a target, and of a text without a space. */
const MAX_LINE_LENGTH = 106
const MAX_TEXT_LENGTH = 44

/** Returns how requests are sent to a server. */
export function createClient(base: string, credential: string): Send {
  return async (method, target, sent = {}) => {
    const url = new URL(target, base)
    print(method, [shorten(`${url.pathname}${decodeURIComponent(url.search)}`, MAX_LINE_LENGTH)])
    if (sent.body instanceof FormData) print('', describeForm(sent.body))
    else if (sent.body !== undefined) print('', layoutJson(shortened(sent.body), MAX_LINE_LENGTH))
    const received = await read(await fetch(url, toRequest(method, { credential, ...sent })))
    print(
      String(received.status),
      received.json === undefined ? describeFile(received) : layoutJson(shortened(received.json), MAX_LINE_LENGTH),
    )
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

function describeForm(form: FormData): string[] {
  return [...form].map(([name, part]) => `${name}: ${typeof part === 'string' ? part : `${part.name}, ${part.size} bytes`}`)
}

function describeFile({ headers, bytes }: Received): string[] {
  return [
    `${headers.get('content-type')}, ${bytes.length} bytes, ${headers.get('content-disposition')?.replace(/; filename\*.*/, '')}`,
  ]
}

/** Returns a value with its long texts cut. A sentence is shown whole, and a text such as that of a ticket is not. */
function shortened(value: unknown): unknown {
  if (typeof value === 'string') return value.includes(' ') ? value : shorten(value, MAX_TEXT_LENGTH)
  if (Array.isArray(value)) return value.map(shortened)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shortened(member)]))
}

function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}

function print(label: string, lines: readonly string[]): void {
  for (const [index, line] of lines.entries()) console.log(`   ${paint(36, (index === 0 ? label : '').padEnd(7))}${line}`)
}
