/** The one error type of the vault and the closed list of its codes. */

/** Every code a `VaultError` can carry. Each maps to one default gRPC code below. */
export type ErrorCode =
  | 'invalid_request'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'rule_broken'
  | 'conflict'
  | 'unavailable'
  | 'internal'

/** The gRPC status number of each code, unless an error names a closer one. */
const GRPC_CODES: Readonly<Record<ErrorCode, number>> = {
  invalid_request: 3,
  unauthenticated: 16,
  forbidden: 7,
  not_found: 5,
  rule_broken: 9,
  conflict: 6,
  unavailable: 14,
  internal: 13,
}

/** Where an error happened: names and positions only, never a value, a token or key material. */
export interface ErrorFacts {
  readonly table?: string
  readonly column?: string
  /** Physical columns of a violated unique index, as an adapter reports them. */
  readonly columns?: readonly string[]
  /** Position of the record, token or item in the request, from 0. */
  readonly index?: number
  /** Positions, where several are at fault; 25 at most. */
  readonly indexes?: readonly number[]
  /** Record ids the caller sent himself and may read back; 25 at most. */
  readonly ids?: readonly string[]
  /** A closer gRPC code than the code's own: 8 over a limit, 11 out of range, 12 unsupported, 15 unreadable body. */
  readonly grpcCode?: number
}

/** Message length the specification allows in an error envelope, in UTF-16 units. */
const LONGEST_MESSAGE = 1000

/**
 * What every public method throws. `message` says what failed, where, and what to do; it never holds a value.
 * `cause`, where present, is an error that was stripped of everything an engine may have quoted.
 */
export class VaultError extends Error {
  readonly code: ErrorCode
  readonly grpcCode: number
  readonly facts: ErrorFacts

  constructor(code: ErrorCode, message: string, facts: ErrorFacts = {}, cause?: Error) {
    super(message.slice(0, LONGEST_MESSAGE), cause === undefined ? undefined : { cause })
    this.name = 'VaultError'
    this.code = code
    this.grpcCode = facts.grpcCode ?? GRPC_CODES[code]
    this.facts = facts
  }
}

/** True for a `VaultError`, optionally of one code; safe across duplicated copies of the package. */
export function isVaultError(error: unknown, code?: ErrorCode): error is VaultError {
  return error instanceof Error && error.name === 'VaultError' && (code === undefined || (error as VaultError).code === code)
}
