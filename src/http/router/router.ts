/** The router: from a request to a response. Checks come in the order of route, credential, vault, body. */
import { isVaultError, type VaultError } from '../../index.ts'
import { type Console, createConsole } from '../console/console.ts'
import { combined } from '../credentials/authenticate.ts'
import {
  type HandlerOptions,
  type HttpLog,
  type OnRefused,
  parseOptions,
  type RouterOptions,
  readHandlerOptions,
  safeLog,
} from '../options.ts'
import { createRoutes } from '../routes/routes.ts'
import { checkIdName, createVaultDirectory, type DirectoryOptions, onlyVaultOf } from '../vaults/vault-directory.ts'
import { bearerOf, createEntry, type Entry } from './enter-vault.ts'
import { ALL_STATUSES, errorResponse, type Failure, toFailure, wireMessage, withConstantText } from './error-response.ts'
import { createRouteFinder, type FindRoute, type FoundRoute, splitTarget } from './find-route.ts'
import type { HttpRequest, HttpResponse } from './http-message.ts'
import { sealed } from './json-response.ts'
import { createRefusalPace } from './refusal-pace.ts'
import { createRequestContext } from './request-context.ts'
import type { Call, Route } from './route.ts'
import { createScope, type Scope } from './scope.ts'
import { assertHost } from './urls.ts'

/** Answers requests. It never throws. */
export interface Router {
  respond(request: HttpRequest): Promise<HttpResponse>
  /** Closes the vaults that the handler opened. */
  close(): Promise<void>
}

/** What the router consists of. */
interface Parts {
  readonly options: RouterOptions
  readonly log: HttpLog
  readonly onRefused: OnRefused | undefined
  scopeOf(request: HttpRequest): Scope
  readonly findRoute: FindRoute
  /** Undefined if the host does not ask for it. */
  readonly console: Console | undefined
  readonly entry: Entry
}

/** Returns a router, by default of every route. Throws `invalid_request` for a wrong option. */
export function createRouter(
  hostOptions: HandlerOptions,
  routesOf: (options: RouterOptions) => readonly Route[] = createRoutes,
): Router {
  const given = readHandlerOptions(hostOptions)
  const options = parseOptions(given)
  const vaults = createVaultDirectory(checkIdName(given.vaults, options.names.id), directoryOptions(given))
  const log = safeLog(given.log)
  const shared = { vaults, pace: createRefusalPace() }
  const contextOf = createRequestContext(given)
  const parts: Parts = {
    options,
    log,
    onRefused: given.onRefused,
    scopeOf: (request) => createScope(shared, contextOf(request)),
    findRoute: createRouteFinder(routesOf(options)),
    console: given.console === true ? createConsole(onlyVaultOf(given.vaults)) : undefined,
    // One authenticator answers for itself, without a promise more for each request.
    entry: createEntry(typeof given.authenticate === 'function' ? given.authenticate : combined(given.authenticate), log),
  }
  return {
    respond: (request) => (request.method === 'HEAD' ? respond(parts, request).then(headOf) : respond(parts, request)),
    close: () => vaults.close(),
  }
}

/** Returns the response to HEAD: that of GET without its body, of whose content nothing is read. */
async function headOf({ status, headers, body }: HttpResponse): Promise<HttpResponse> {
  if (typeof body !== 'object' || body instanceof Uint8Array)
    return { status, headers: { ...headers, 'content-length': String(Buffer.byteLength(body ?? '')) }, body: undefined }
  await body[Symbol.asyncIterator]()
    .return?.()
    .catch(() => {})
  return { status, headers, body: undefined }
}

function directoryOptions({ vaultIdleMs, vaultsOfAccount }: HandlerOptions): DirectoryOptions {
  return {
    ...(vaultIdleMs === undefined ? {} : { idleMs: vaultIdleMs }),
    ...(vaultsOfAccount === undefined ? {} : { vaultsOfAccount }),
  }
}

async function respond(parts: Parts, request: HttpRequest): Promise<HttpResponse> {
  const scope = parts.scopeOf(request)
  const { requestID } = scope.context
  let found: FoundRoute | undefined
  try {
    assertHost(request)
    const target = splitTarget(request.target, parts.options.basePath)
    const page = parts.console?.(request, target.path)
    if (page !== undefined) return sealed(scope.released(page), requestID)
    found = parts.findRoute(request.method, target.path)
    const { route, params } = found
    const { query } = target
    const call: Call = { request, scope, params, query, options: parts.options }
    let response: HttpResponse
    if (route.access === 'bearer') {
      const { vault, caller, session } = await parts.entry(call, params.vaultID ?? '')
      response = await route.handle({ request, scope, params, query, options: parts.options, vault, caller, session })
    } else {
      response = await route.handle({ ...call, enter: (vaultID) => parts.entry(call, vaultID) })
    }
    const { statuses } = route
    // The response has begun: the log alone can say why it ends early.
    return sealed(
      scope.released(response, (error) => logFailure(parts, scope, toFailure(error, statuses))),
      requestID,
    )
  } catch (error) {
    if (isVaultError(error, 'unauthenticated')) reportRefused(parts, request, scope)
    return sealed(scope.released(await failed(parts, { error, found, scope }).catch(unexpected)), requestID)
  }
}

/** Returns the response of a failure. What failed before an operation began is recorded in the vault that it named. */
async function failed(
  { options, log }: Parts,
  { error, found, scope }: { readonly error: unknown; readonly found: FoundRoute | undefined; readonly scope: Scope },
): Promise<HttpResponse> {
  const { verb = 'Request', wireNames, keepsTexts, statuses = ALL_STATUSES } = found?.route ?? {}
  const failure = toFailure(error, statuses)
  const recorded = await scope.recordRefusal(failure).then(
    () => failure,
    (unrecorded: unknown) => toFailure(unrecorded, statuses),
  )
  logFailure({ log }, scope, recorded)
  const shown = scope.isAuthenticated() ? recorded : withConstantText(recorded)
  const wording = { verb, keepsTexts, ...(wireNames === undefined ? {} : { wireNames }) }
  return errorResponse(shown, wireMessage(shown.error, wording, options.names))
}

/** Reports a refused credential to the host, whose errors change nothing. */
function reportRefused({ onRefused }: Parts, request: HttpRequest, { context }: Scope): void {
  try {
    onRefused?.({ credential: bearerOf(request.header('authorization')), address: context.ipAddress })
  } catch {
    // There is no other place to report it.
  }
}

/** Returns the response if the one of a failure could not be made. */
function unexpected(error: unknown): HttpResponse {
  return errorResponse(toFailure(error, ALL_STATUSES))
}

function logFailure({ log }: Pick<Parts, 'log'>, { context }: Scope, { error, status }: Failure): void {
  if (status < 500) return
  log.error({ requestID: context.requestID, code: error.code, reason: reasonOf(error) }, 'request failed')
}

/** Returns what the errors say of the cause: their texts hold no value. Those of other errors are left out. */
function reasonOf({ message, cause }: VaultError): string {
  return isVaultError(cause) ? `${message} ${cause.message}` : message
}
