/** One line of the list of bad inputs: a request, and the codes of its answer. */
import type { WireRequest } from '../../support/http/wire.ts'

/** What the requests of the list are about. */
export interface BadInputScene {
  /** Path of the vault. */
  readonly vault: string
  /** Id of a record of `people`, and of one of `orders`. */
  readonly person: string
  readonly order: string
  /** Random token of its email. */
  readonly token: string
}

/** A request that is refused. */
export interface BadInput {
  /** What is wrong, as one reads it. */
  readonly name: string
  /** Status and gRPC code. */
  readonly codes: readonly [http: number, grpc: number]
  /** Text of the message. */
  readonly message?: RegExp
  /** Returns the request. Without headers it is JSON of the owner. */
  request(scene: BadInputScene): WireRequest
}

/** Text that no answer may repeat. */
export const SECRET = 'TEST_SECRET quetzal!'

/** A token that a caller supplied before. */
export const TAKEN_TOKEN = 'a token of a caller'

/** The headers of the owner's requests. */
export const OWNER_HEADERS = { authorization: 'Bearer owner', 'content-type': 'application/json' } as const

/** Returns a request with a JSON body. */
export function post(target: string, body: unknown): WireRequest {
  return { method: 'POST', target, body: typeof body === 'string' ? body : JSON.stringify(body) }
}

/** Returns a request without a body. */
export function get(target: string): WireRequest {
  return { method: 'GET', target }
}

/** Returns an insert of one record. */
export function insertion({ vault }: BadInputScene, fields: unknown, options: object = {}): WireRequest {
  return post(`${vault}/people`, { records: [{ fields }], ...options })
}
