/** The router: from a request to a response. Checks come in the order of route, credential, vault, body. */
import { combined } from '../credentials/authenticators.ts'
import { type HandlerOptions, parseOptions, type RouterOptions } from '../options.ts'
import { createRoutes } from '../routes/routes.ts'
import { checkIdName } from '../vaults/check-id-name.ts'
import { createVaultDirectory, type DirectoryOptions } from '../vaults/vault-directory.ts'
import { createEntry, type Entry } from './enter-vault.ts'
import { errorResponse, toFailure } from './error-response.ts'
import { ALL_STATUSES } from './error-status.ts'
import { wireMessage } from './error-texts.ts'
import { createRouteFinder, type FindRoute, type FoundRoute } from './find-route.ts'
import { assertHost } from './host-header.ts'
import type { HttpRequest, HttpResponse } from './http-message.ts'
import { createRefusalPace } from './refusal-pace.ts'
import { createRequestContext } from './request-context.ts'
import type { Route } from './route.ts'
import { type HttpLog, safeLog } from './router-log.ts'
import { createScope, type Scope } from './scope.ts'
import { sealed } from './security-headers.ts'
import { splitTarget } from './split-target.ts'

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
  readonly findRoute: FindRoute
  readonly entry: Entry
}

/** Returns a router, by default of every route. Throws `invalid_request` for a wrong option. */
export function createRouter(
  given: HandlerOptions,
  routesOf: (options: RouterOptions) => readonly Route[] = createRoutes,
): Router {
  const options = parseOptions(given)
  const vaults = createVaultDirectory(checkIdName(given.vaults, options.names.id), directoryOptions(given))
  const log = safeLog(given.log)
  const parts: Parts = {
    options,
    log,
    findRoute: createRouteFinder(routesOf(options)),
    entry: createEntry(combined(given.authenticate), log),
  }
  const shared = { vaults, pace: createRefusalPace() }
  const contextOf = createRequestContext(given)
  return {
    async respond(request) {
      const context = contextOf(request)
      return sealed(await answer(parts, request, createScope(shared, context)), context.requestID)
    },
    close: () => vaults.close(),
  }
}

function directoryOptions({ vaultIdleMs, vaultsOfAccount }: HandlerOptions): DirectoryOptions {
  return {
    ...(vaultIdleMs === undefined ? {} : { idleMs: vaultIdleMs }),
    ...(vaultsOfAccount === undefined ? {} : { vaultsOfAccount }),
  }
}

async function answer(parts: Parts, request: HttpRequest, scope: Scope): Promise<HttpResponse> {
  let found: FoundRoute | undefined
  try {
    assertHost(request)
    const target = splitTarget(request.target, parts.options.basePath)
    found = parts.findRoute(request.method, target.path)
    const call = { request, scope, params: found.params, query: target.query, options: parts.options }
    const response = await (found.route.access === 'bearer'
      ? found.route.handle({ ...call, ...(await parts.entry(call, found.params.vaultID ?? '')) })
      : found.route.handle({ ...call, enter: (vaultID) => parts.entry(call, vaultID) }))
    return scope.released(response)
  } catch (error) {
    return scope.released(await failed(parts, { error, found, scope }))
  }
}

/** Returns the response of a failure. What failed before an operation began is recorded in the vault that it named. */
async function failed(
  { options, log }: Parts,
  { error, found, scope }: { readonly error: unknown; readonly found: FoundRoute | undefined; readonly scope: Scope },
): Promise<HttpResponse> {
  const route = found?.route
  const failure = toFailure(error, route?.statuses ?? ALL_STATUSES)
  const recorded = await scope.recordRefusal(failure).then(
    () => failure,
    (unrecorded: unknown) => toFailure(unrecorded, route?.statuses ?? ALL_STATUSES),
  )
  if (recorded.status >= 500) log.error({ requestID: scope.context.requestID, code: recorded.error.code }, 'request failed')
  const { verb = 'Request', wireNames } = route ?? {}
  return errorResponse(
    recorded,
    wireMessage(recorded.error, { verb, ...(wireNames === undefined ? {} : { wireNames }) }, options.names),
  )
}
