/** Calls of the vault: operations by their names, as `session.perform` has them. Values go in bodies, never in URLs. */
import type { OperationInput, OperationName, OperationResult } from '../../index.ts'
import type { Credential } from './credential.ts'
import { credential } from './credential.ts'
import { API_URL } from './places.ts'

/** What the vault, or the way to it, refused. */
export class ApiError extends Error {
  /** Status of HTTP; 0 if there was no answer. */
  readonly status: number
  /** Code of the vault such as `not_found`; empty if there is none. */
  readonly code: string
  /** What the vault adds, such as the places of errors in a query. */
  readonly details: readonly unknown[]
  /** Id of the request for the host's log; empty if there was no answer. */
  readonly requestID: string

  constructor(message: string, { status = 0, code = '', details = [] as readonly unknown[], requestID = '' } = {}) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
    this.requestID = requestID
  }
}

/** Options of a call. */
export interface CallOptions {
  /** Why the values are needed, for the audit trail. */
  readonly purpose?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** In place of the credential of this tab: for signing in. */
  readonly as?: Credential
}

/** Called when the vault no longer accepts the credential of this tab. `session.ts` sets it. */
export const refusals: { onRefused: () => void } = { onRefused: () => {} }

/** Performs an operation. Throws `ApiError`, and what aborts the signal. */
export async function perform<Name extends OperationName>(
  name: Name,
  input: OperationInput<Name>,
  options: CallOptions = {},
): Promise<OperationResult<Name>> {
  const as = options.as ?? signedIn()
  const response = await post(name, input, as, options)
  const body: unknown = await response.json().catch(() => undefined)
  // An abort can come after the status, and then ends the body.
  options.signal?.throwIfAborted()
  // What was asked for in an earlier session is for no other one, and its refusal ends no other one.
  if (options.as === undefined && credential() !== as) throw new ApiError(SIGNED_OUT)
  if (!response.ok) throw refusal(response, body, options)
  if (body === undefined) throw new ApiError('The answer of the server ended early. Look whether what you asked for was done.')
  return body as OperationResult<Name>
}

/** Performs an operation that answers in lines of JSON, and calls back for each. Throws as `perform`. */
export async function performLines<Line>(
  name: string,
  input: object,
  onLine: (line: Line) => void,
  options: CallOptions = {},
): Promise<void> {
  const response = await post(name, input, signedIn(), options)
  if (!response.ok || response.body === null) throw refusal(response, await response.json().catch(() => undefined), options)
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value = '' } = await reader.read().catch(() => {
      options.signal?.throwIfAborted()
      throw new ApiError('The answer of the server ended early.')
    })
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(JSON.parse(line) as Line)
  }
}

/** Calls an operation whose body or answer is a file. Its path has names and an id, and no value. Throws as `perform`. */
export async function performFile(path: string, request: RequestInit): Promise<Response> {
  const as = signedIn()
  const headers = { ...request.headers, authorization: `Bearer ${await as.bearer()}` }
  const response = await send(`v3/vaults/${encodeURIComponent(as.vaultID)}/${path}`, { ...request, headers })
  if (credential() !== as) throw new ApiError(SIGNED_OUT)
  if (!response.ok) throw refusal(response, await response.json().catch(() => undefined), {})
  return response
}

/** Sends a body without a credential, for the token route. Throws `ApiError`. */
export async function postWithout(path: string, body: object): Promise<unknown> {
  const response = await send(path, { body: JSON.stringify(body), headers: JSON_TYPE })
  const answer: unknown = await response.json().catch(() => undefined)
  if (!response.ok) throw toError(response, answer)
  return answer
}

const JSON_TYPE = { 'content-type': 'application/json' }

const SIGNED_OUT = 'You are signed out.'

function signedIn(): Credential {
  const as = credential()
  if (as === undefined) throw new ApiError(SIGNED_OUT)
  return as
}

async function post(name: string, input: object, as: Credential, { purpose, signal }: CallOptions): Promise<Response> {
  const headers: Record<string, string> = { ...JSON_TYPE, authorization: `Bearer ${await as.bearer()}` }
  if (purpose !== undefined && purpose !== '') headers['x-purpose'] = encodeURIComponent(purpose)
  return send(`v3/vaults/${encodeURIComponent(as.vaultID)}/${name}`, {
    body: JSON.stringify(input),
    headers,
    signal: signal ?? null,
  })
}

/** Operations that can be done although their answer is lost. */
const WRITE = /\/(?:insert|update|delete|upload|reveal|create|revoke|rotate|destroy)\w*(?:\?|$)/

async function send(path: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(new URL(path, API_URL), {
      method: 'POST',
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
      ...request,
    })
  } catch (error) {
    if (request.signal?.aborted) throw error
    throw new ApiError(
      `The server does not answer. ${WRITE.test(path) ? 'Look whether it was done before you try again.' : 'Nothing was changed.'}`,
    )
  }
}

function refusal(response: Response, body: unknown, { as }: CallOptions): ApiError {
  const error = toError(response, body)
  // The API has no 403: what the policy refuses has the same status as a credential that is no longer accepted.
  if (error.code === 'unauthenticated' && as === undefined) refusals.onRefused()
  return error
}

function toError(response: Response, body: unknown): ApiError {
  const error = (body as { error?: { message?: string; code?: string; details?: readonly unknown[] } } | undefined)?.error
  return new ApiError(error?.message ?? 'The server answered without a reason.', {
    status: response.status,
    code: error?.code ?? '',
    details: error?.details ?? [],
    requestID: response.headers.get('x-request-id') ?? '',
  })
}
