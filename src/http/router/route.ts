/** The law of routes: what the router, the API description and the reference page know of one. */
import type * as z from 'zod'
import {
  type Caller,
  type OperationInput,
  type OperationName,
  type OperationResult,
  type SchemaDefinition,
  type Session,
  VaultError,
} from '../../index.ts'
import { readJsonBody } from '../body/read-json-body.ts'
import type { RouterOptions } from '../options.ts'
import type { HostedVault } from '../vaults/open-vaults.ts'
import type { ErrorStatus } from './error-response.ts'
import type { HttpRequest, HttpResponse } from './http-message.ts'
import { longJsonResponse } from './json-response.ts'
import { parseShape, type QueryOf, type QueryShape, type QueryTexts, readQuery } from './request-shape.ts'
import type { Scope } from './scope.ts'

/** The methods of HTTP that routes have. */
export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** What the API description and the reference page say of a route. Source of the statuses: specification, "Endpoints". */
export interface RouteDescription {
  readonly method: Method
  /** Template, with parameters in braces: `/v1/vaults/{vaultID}/query`. */
  readonly path: string
  /** Its name in clients that are generated from the API description, unique among routes: `insertRecords`. */
  readonly name?: string
  /** What the parameters of its path mean, where it is something else than in other routes. */
  readonly parameters?: Readonly<Record<string, string>>
  /** The group of routes it is described in. */
  readonly group:
    | 'Operations'
    | 'Audit'
    | 'Batch'
    | 'Records'
    | 'Tokens'
    | 'Query'
    | 'Files'
    | 'Legacy records'
    | 'Legacy tokens'
    | 'Credentials'
    | 'Description'
  readonly summary: string
  /** More about it, in whole sentences. */
  readonly description?: string
  readonly isDeprecated?: boolean
  /** True if the specification does not have it. */
  readonly isOwn?: boolean
  /** True if it asks for no credential. */
  readonly isPublic?: boolean
  /** The statuses of its errors. */
  readonly statuses: readonly ErrorStatus[]
  /** The members of its query. */
  readonly query?: QueryShape
  /** The JSON body, or the parts of a multipart one. */
  readonly body?: z.ZodType
  /** The body as the API description has it, where the vault checks more of it than the route. Default: `body`. */
  readonly describedBody?: z.ZodType
  readonly bodyType?: 'application/json' | 'multipart/form-data' | 'application/octet-stream'
  /** The body of the response 200. Undefined for a body that is not JSON. */
  readonly response: z.ZodType | undefined
  readonly responseType?: string
  /** Other successful statuses. */
  readonly otherResponses?: Readonly<Record<number, z.ZodType | undefined>>
  /** An example of a request and its response, for people. */
  readonly example?: RouteExample
}

/** An example that a test sends. */
export interface RouteExample {
  /** Parameters of the path, apart from the vault. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: unknown
  readonly response?: unknown
}

/** One request on its route. */
export interface Call {
  readonly request: HttpRequest
  readonly scope: Scope
  /** Decoded parameters of the path. */
  readonly params: Readonly<Record<string, string>>
  /** Returns the texts of the query. Throws `invalid_request` for one that cannot be decoded. */
  query(): QueryTexts
  readonly options: RouterOptions
}

/** A vault as the caller of a request has it. */
export interface VaultAccess {
  readonly vault: HostedVault
  readonly caller: Caller
  /** The session of the caller. What it performs is recorded by the operation itself. */
  readonly session: Pick<Session<SchemaDefinition>, 'perform'>
}

/** One request of an authenticated caller. */
export type AuthenticatedCall = Call & VaultAccess

/** One request to a route that names its vault, if any, in another place than the path. */
export interface OpenCall extends Call {
  /** Checks the credential of the request for a vault. Throws `unauthenticated`. */
  enter(vaultID: string): Promise<VaultAccess>
}

/** What routes of every access have. */
interface CommonRoute extends RouteDescription {
  /** The operation that it performs; undefined for none. */
  readonly operation: OperationName | undefined
  /** The word its errors begin with. */
  readonly verb: string
  /** The members of the operation's input under their names on the wire, for its error texts. */
  readonly wireNames?: Readonly<Record<string, string>>
  /** True if errors of its operation have the texts of the session, whose members its bodies have. */
  readonly keepsTexts?: true
}

/** A route of the vault that its path names, for callers with a bearer token. */
export interface BearerRoute extends CommonRoute {
  readonly access: 'bearer'
  handle(call: AuthenticatedCall): Promise<HttpResponse>
}

/** A route without a vault in its path. It checks credentials itself, if it needs any. */
export interface OpenRoute extends CommonRoute {
  readonly access: 'open'
  handle(call: OpenCall): Promise<HttpResponse>
}

/** A route. Its handler throws what goes into an error envelope. */
export type Route = BearerRoute | OpenRoute

/** A route that performs an operation: how its request is read, and its result is written. */
interface OperationRoute<Name extends OperationName, Query extends QueryShape, Body extends z.ZodType, Answer extends z.ZodType>
  extends RouteDescription {
  readonly operation: Name
  readonly verb: string
  readonly wireNames?: Readonly<Record<string, string>>
  readonly query?: Query
  readonly body?: Body
  readonly response: Answer
  /** Returns a body in the form of its shape, from another form that existing clients send. */
  toShape?(body: unknown): unknown
  /** Returns the input of the operation. */
  read(request: RequestParts<Query, Body>): OperationInput<Name> | Promise<OperationInput<Name>>
  /** Returns the body of the response. */
  write(result: OperationResult<Name>, request: RequestParts<Query, Body>): z.input<Answer>
  /** Returns the status of the response. Default 200. */
  statusOf?(result: OperationResult<Name>): number
}

/** A checked request. */
export interface RequestParts<Query extends QueryShape, Body extends z.ZodType> {
  /** Decoded parameters of the path. */
  readonly params: Readonly<Record<string, string>>
  readonly query: QueryOf<Query>
  readonly body: z.output<Body>
  readonly call: AuthenticatedCall
}

/** Returns a route that performs an operation. The compiler ties the operation to its reader and its writer. */
export function operationRoute<
  const Name extends OperationName,
  Answer extends z.ZodType,
  Query extends QueryShape = Record<never, never>,
  Body extends z.ZodType = z.ZodUndefined,
>(route: OperationRoute<Name, Query, Body, Answer>): BearerRoute {
  return {
    ...route,
    access: 'bearer',
    async handle(call) {
      const query = readQuery(route.query ?? {}, call.query())
      // Absent shapes have the types of their defaults.
      const reading = bodyOf(call, route)
      const body = reading instanceof Promise ? await reading : reading
      const request = { params: call.params, query: query as QueryOf<Query>, body, call }
      const input = route.read(request)
      const result = await call.session.perform(route.operation, input instanceof Promise ? await input : input)
      return longJsonResponse(route.statusOf?.(result) ?? 200, route.write(result, request))
    },
  }
}

/** Returns the checked body, without a promise for a request that has none. A route without one accepts `{}`, as existing clients send it with GET and DELETE. */
function bodyOf<Body extends z.ZodType>(
  call: Call,
  { body: shape, toShape }: { readonly body?: Body; toShape?(body: unknown): unknown },
): Promise<z.output<Body>> | z.output<Body> {
  const { request, options, params } = call
  const checked = (given: unknown): z.output<Body> => {
    assertSameAsPath(given, params)
    return (shape === undefined ? undefined : parseShape(shape, toShape === undefined ? given : toShape(given))) as z.output<Body>
  }
  if (request.body === undefined) return checked(undefined)
  const { maxBodyBytes: maxBytes, maxJsonValues: maxValues } = options.limits
  return readJsonBody(request, { maxBytes, maxValues }).then(checked)
}

/** Throws `invalid_request` for a body that names another vault or record than the path. */
function assertSameAsPath(body: unknown, params: Readonly<Record<string, string>>): void {
  if (typeof body !== 'object' || body === null) return
  for (const name of ['vaultID', 'ID'] as const) {
    const given: unknown = Object.hasOwn(body, name) ? Reflect.get(body, name) : undefined
    if (given === undefined || given === null || given === '' || params[name] === undefined || given === params[name]) continue
    throw new VaultError('invalid_request', `${name} of the body must be that of the path, or absent.`)
  }
}
