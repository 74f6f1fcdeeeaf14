/** Connects to a vault over HTTP: the session of the library, whose methods each send one request. */
import { printableName, VaultError } from '../core/errors.ts'
import type { OperationName, SchemaDefinition, Session, Signal, SqlQuery } from '../index.ts'
import { bearerSource, type ClientCredentials } from './bearer-source.ts'
import { encoded, type GivenFile, type GivenUpload, openRequest, uploadRequest } from './remote-files.ts'
import { createTransport, headerText } from './transport.ts'
import { lost, parsed, readError } from './wire-errors.ts'

/** Options of `connectVault`. */
export interface ConnectOptions {
  /** Where the routes of the handler begin: `https://vault.acme.example`, or with a path. */
  readonly url: string | URL
  readonly vaultId: string
  /** An API key or a bearer; or a function that returns one, which is asked again once the vault refuses the one before. */
  readonly credentials: ClientCredentials
  /** Default: that of the platform. */
  readonly fetch?: typeof globalThis.fetch
  /** Milliseconds that one attempt may take; of a file, until its first byte. Default 30,000. */
  readonly timeoutMs?: number
  /** Times that a request is sent again where that is safe: see docs/client.md. Default 2. */
  readonly retries?: number
  /** Why the session works with the data, for events, policies and columns that require it: 1 to 128 characters that name no person. Default: none is stated. */
  readonly purpose?: string
}

/** The session of a caller over HTTP: that of the library. */
export type RemoteSession<S extends SchemaDefinition> = Session<S>

/** The operations with a method, and the names of its arguments. `perform` sends every other one. Those with a star write: each has an idempotency key, so that it can be sent again. */
export const OPERATIONS = {
  insert: '*table records options',
  importRecords: '*',
  get: 'table options',
  getOne: 'table id options',
  update: '*table records options',
  updateOne: '*table id fields options',
  updateWhere: '*table where fields options',
  delete: '*table ids options',
  deleteOne: '*table id options',
  deleteWhere: '*table where options',
  detokenize: 'records options',
  tokenize: 'records',
  getByTokens: 'tokens options',
  query: 'query values options',
  batch: '*items options',
  listEvents: 'query',
  uploadFile: '*',
  openFile: 'table id column options',
  deleteFile: '*table id column',
  fileStatus: 'table id column',
  fileStatuses: 'records',
  uploadTicket: '',
  downloadTicket: 'table id column',
  createCredential: '*',
  revokeCredential: '*',
  listCredentials: 'options',
  describeCaller: '',
  describeSchema: '',
  explainQuery: 'query values',
  readPolicy: '',
  previewAccess: '',
  checkPolicy: '',
} as const satisfies Readonly<Partial<Record<OperationName, string>>>

/** Work without an idempotency key. It can go on in the vault after its answer was lost, and a second request would do it again. */
const WORK: ReadonlySet<string> = new Set(['rotateKeys', 'destroyKey'] satisfies OperationName[])

/** Records of a page without `limit`. */
const PAGE_SIZE = 25

/** An input, of which a client reads the signal only. */
interface AnyInput {
  readonly [member: string]: unknown
  readonly options?: Options | undefined
}

/** Options of an operation. */
interface Options {
  readonly [option: string]: unknown
  readonly signal?: Signal
}

/** How an operation is performed. */
interface Performing {
  readonly idempotencyKey?: string
}

/**
 * Returns the session of a caller. Nothing is sent before its first call. `typeof schema` gives it the types of the schema, by `import type`: the
 * schema itself is not needed. Throws `invalid_request` for a wrong option. Source: docs/client.md.
 */
export function connectVault<Given extends { readonly tables: SchemaDefinition }>(
  options: ConnectOptions,
): RemoteSession<Given['tables']> {
  assertOptions(options)
  const { vaultId, credentials, timeoutMs = 30_000, retries = 2, purpose } = options
  const url = String(options.url).replace(/\/+$/, '')
  if (!/^https?:\/\/[^/?#@]+(?:\/[^?#]*)?$/.test(url))
    throw invalid('Option "url" must be an http or https URL without a query or a password.')
  if (typeof vaultId !== 'string' || vaultId === '') throw invalid('Option "vaultId" must be the id of a vault.')
  if (typeof credentials !== 'string' && typeof credentials !== 'function')
    throw invalid('Option "credentials" must be a text, or a function that returns one.')
  if (!(timeoutMs > 0)) throw invalid('Option "timeoutMs" must be a number of milliseconds.')
  if (!(retries >= 0)) throw invalid('Option "retries" must be a number from 0.')
  const send = createTransport({
    base: `${url}/v3/vaults/${encodeURIComponent(vaultId)}`,
    bearers: bearerSource(credentials),
    // Looked up at each call, and called as browsers demand it.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    timeoutMs,
    retries,
    headers: purpose === undefined ? {} : { 'x-purpose': encoded(String(purpose)) },
  })

  async function perform(name: string, given: AnyInput = {}, { idempotencyKey }: Performing = {}): Promise<unknown> {
    const key = isWrite(name) ? headerText('idempotencyKey', idempotencyKey ?? newKey()) : undefined
    const read = resultReader(name, key !== undefined)
    if (name === 'uploadFile') {
      const { options: uploading, ...upload } = given
      return send({ ...uploadRequest({ ...upload, ...uploading } as unknown as GivenUpload), key, read })
    }
    if (name === 'openFile') return send(openRequest(given as unknown as GivenFile))
    assertWhole(given)
    const { input, signal } = withoutSignal(withText(given))
    const body = JSON.stringify(input, toWire)
    const result = await send({
      path: encodeURIComponent(name),
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: () => body,
      key,
      isWork: WORK.has(name),
      isConditional: body.includes('"ifVersion":'),
      signal,
      read,
    })
    return name === 'batch' ? withErrors(result as BatchBody) : result
  }

  const session = {
    ...Object.fromEntries(Object.entries(OPERATIONS).map(([name, members]) => [name, methodOf(name, members)])),
    async insertOne(table: string, fields: unknown, { tokens, ...options }: { readonly tokens?: unknown } = {}) {
      const { records } = (await perform('insert', { table, records: [{ fields, tokens }], options })) as PageBody
      return records[0]
    },
    async *pages(table: string, { offset, ...options }: PageOptions = {}) {
      let page = (await perform('get', { table, options: { ...options, offset } })) as PageBody
      for (;;) {
        yield page
        if (page.next === undefined || page.records.length < (options.limit ?? PAGE_SIZE)) return
        page = (await perform('get', { table, options: { ...options, after: page.next } })) as PageBody
      }
    },
    delete: (table: string, ids: unknown, options = {}) => perform('delete', { table, ids: ids === '*' ? ['*'] : ids, options }),
    query: (query: string | SqlQuery, second?: Options, third?: Options) => {
      // Whatever is before options counts as values.
      const hasValues = third !== undefined || Array.isArray(second)
      return perform('query', hasValues ? { query, values: second, options: third ?? {} } : { query, options: second ?? {} })
    },
    perform,
  }
  // The vault checks what the methods are given; the cast gives their results the types of the schema.
  return session as unknown as RemoteSession<Given['tables']>

  /** Returns the method of an operation; without names of arguments, its input is the only one. */
  function methodOf(name: string, members: string) {
    const names = members.match(/\w+/g)
    return (...given: unknown[]) => {
      const argument = (name: string, index: number): unknown =>
        given[index] === undefined && name === 'options' ? {} : given[index]
      const input = names === null ? given[0] : Object.fromEntries(names.map((name, index) => [name, argument(name, index)]))
      return perform(name, input as AnyInput)
    }
  }
}

const OPTIONS = ['url', 'vaultId', 'credentials', 'fetch', 'timeoutMs', 'retries', 'purpose']

/** Throws for an option that is unknown or null. */
function assertOptions(options: object): void {
  for (const [name, value] of Object.entries(options)) {
    const named = `option "${printableName(name)}"`
    if (!OPTIONS.includes(name)) throw invalid(`connectVault: Unknown ${named}. Supported: ${OPTIONS.join(', ')}.`)
    if (value === null) throw invalid(`connectVault: O${named.slice(1)} must not be null. Give it a value, or leave it out.`)
  }
}

function isWrite(name: string): boolean {
  return Object.hasOwn(OPERATIONS, name) && OPERATIONS[name as keyof typeof OPERATIONS].startsWith('*')
}

/** Returns an input without the signal of its options, which stays here. */
function withoutSignal(given: AnyInput): { readonly input: object; readonly signal: Signal | undefined } {
  const { options } = given
  if (typeof options !== 'object' || options === null || !('signal' in options)) return { input: given, signal: undefined }
  const { signal, ...others } = options
  return { input: { ...given, options: others }, signal }
}

function invalid(sentence: string): VaultError {
  return new VaultError('invalid_request', sentence)
}

/** Returns 128 random bits as text. `randomUUID` is missing on pages without TLS. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** A page of a read. */
interface PageBody {
  readonly records: readonly unknown[]
  readonly next?: string
}

interface PageOptions {
  readonly offset?: number
  readonly limit?: number
}

/** The list that a result has, by operation. */
const LISTS: Readonly<Record<string, string>> = { insert: 'records', get: 'records', batch: 'responses' }

/** Returns what reads the body of a success. It throws for anything but a result of a vault: `outcome_unknown` for a write, of which it may be a part. */
function resultReader(name: string, isWrite: boolean): (response: Response) => Promise<unknown> {
  return async (response) => {
    const body = parsed(await response.text())
    const list = LISTS[name]
    if (Object(body) === body && (list === undefined || Array.isArray(Reflect.get(Object(body), list)))) return body
    const why = 'The address answered without the result of a vault. Check the url.'
    throw isWrite ? lost(true, why) : new VaultError('internal', `Request failed. ${why}`)
  }
}

/** The body of a batch. */
interface BatchBody {
  readonly responses: readonly { readonly ok: boolean; readonly error?: unknown }[]
}

/** Returns the responses with their errors as those of the library. */
function withErrors({ responses }: BatchBody): object {
  return { responses: responses.map((one) => (one.ok ? one : { ...one, error: readError(one.error) })) }
}

/** Returns an input in which a query made by `sql` is its text and its values. */
function withText(given: AnyInput): AnyInput {
  const { query } = given
  return isMadeBySql(query) ? { ...given, query: query.text, values: given.values ?? query.values } : given
}

/** True for what the tag `sql` made: it is frozen, as no JSON of others is. */
function isMadeBySql(query: unknown): query is SqlQuery {
  return typeof query === 'object' && Object.isFrozen(query) && Object.isFrozen(Reflect.get(Object(query), 'values'))
}

/** Throws for a part of `where` that is undefined. JSON would leave it out, and the call would be of more records. */
function assertWhole({ where, options }: AnyInput): void {
  const terms = Object.values(Object(where ?? options?.where))
  const parts = terms.flatMap((term) => (typeof term === 'object' ? Object.values(Object(term)) : [term]))
  if (parts.includes(undefined)) throw invalid('Request failed. A part of where is undefined. Give it a value, or leave it out.')
}

/**
 * Returns a value as JSON has it: an integer beyond 2^53 as its digits. What JSON would change is not sent as something else: a number such as NaN and an
 * invalid date are refused. Other dates are texts by themselves.
 */
function toWire(this: object, name: string, value: unknown): unknown {
  if (typeof value === 'string') return value
  // Before its toJSON, by which bytes would become an object.
  const given: unknown = Reflect.get(this, name)
  if (typeof given === 'bigint') return String(given)
  const isNoNumber = typeof given === 'number' && !Number.isFinite(given)
  const isLost = isNoNumber || typeof given === 'symbol' || (given === undefined && Array.isArray(this))
  const isPlain = Object(given) !== given || Array.isArray(given) || isPlainObject(given as object)
  if (isLost || !isPlain) throw invalid('Request failed. A value is one that JSON does not have, such as a Map or NaN.')
  return given
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  // That of another realm has no prototype itself.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
