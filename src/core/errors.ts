/** The error type of the vault, the closed list of its codes, and the sentences of its messages. */
import { MAX_NAME_LENGTH } from './limits.ts'

/** HTTP status and gRPC code of each error code, frozen. The routes have no 403, so `forbidden` is 401. Source: specification, "Errors". */
export const STATUSES = Object.freeze({
  /** Wrong shape, option, name or syntax. */
  invalid_request: status(400, 3),
  /** A number outside its bounds: limit, offset, budget, literal, SUM. */
  out_of_range: status(400, 11),
  /** Request, text, nesting, joins, rows, memory, policy or schema above a limit. */
  limit_exceeded: status(400, 8),
  /** The time limit of a query is over. */
  deadline_exceeded: status(400, 4),
  /** SQL outside the subset. */
  unsupported: status(400, 12),
  /** The caller's AbortSignal was aborted. */
  cancelled: status(400, 1),
  /** No valid credential. */
  unauthenticated: status(401, 16),
  /** No grant. */
  forbidden: status(401, 7),
  /** No such table, record or token. */
  not_found: status(404, 5),
  /** A value breaks a rule of its column or of the query language. */
  unprocessable: status(422, 9),
  /** Storage, key file or stored schema do not fit: while a vault is opened, or in a write of a process whose schema is too old. */
  failed_precondition: status(422, 9),
  /** A unique value or a token that is already in use. */
  conflict: status(422, 6),
  /** No unused token is left in a format. */
  tokens_exhausted: status(422, 8),
  /** Lost to concurrent writers in every attempt. Nothing was stored; safe to retry. */
  aborted: status(500, 10),
  /** The storage was lost during COMMIT: check what is stored before retrying. */
  outcome_unknown: status(500, 2),
  /** Disk, row ids or a chain of the audit trail are full. */
  storage_full: status(500, 8),
  /** Storage or keys cannot be reached. Nothing was stored; safe to retry. */
  unavailable: status(500, 14),
  /** A sealed body, catalog entry, event or chain head fails authentication, or a stored cell is no value of its type. */
  data_loss: status(500, 15),
  /** A defect, misuse of the storage port, or an error of a port that is no `VaultError`. */
  internal: status(500, 13),
} as const satisfies Readonly<Record<string, Status>>)

/** Every code a `VaultError` can carry. */
export type ErrorCode = keyof typeof STATUSES

/** True for one of the codes. */
export function isErrorCode(text: unknown): text is ErrorCode {
  return typeof text === 'string' && Object.hasOwn(STATUSES, text)
}

/** An HTTP status and a gRPC code. */
export interface Status {
  readonly http: number
  readonly grpc: number
}

function status(http: number, grpc: number): Status {
  return Object.freeze({ http, grpc })
}

/** The location of an error: names and positions only, never a value, a token or key material. Source: specification, "Error envelope". */
export interface ErrorDetail {
  readonly table?: string
  readonly column?: string
  /** Physical columns of a violated unique index, as an adapter reports them. */
  readonly columns?: readonly string[]
  /** Position of the record, token or item in the request, from 0. */
  readonly index?: number
  /** The place in the text of a query. Line and column count from 1, columns and length in UTF-16 units. The length is 0 at the end of the text. */
  readonly position?: { readonly line: number; readonly column: number; readonly length: number }
  /** A step of a change of the schema that an opening does not make. */
  readonly step?: string
  /** A record id: from the caller's own request, or of a record that failed authentication. */
  readonly id?: string
}

/** One detail, or several. */
export type ErrorDetails = ErrorDetail | readonly ErrorDetail[]

/** Maximum length of a message, in UTF-16 units. Source: specification, "Error envelope". */
const MAX_MESSAGE_LENGTH = 1000
/** Maximum number of details of one error. */
export const MAX_DETAILS = 25

/** Options of a `VaultError`. */
export interface VaultErrorOptions {
  /** The error of an engine or library, without any text that can quote a value. */
  readonly cause?: Error | undefined
  /** The HTTP status, for an operation that documents another one for its code. Default: the status of the code. */
  readonly httpStatus?: number | undefined
}

/** The error that all public methods throw. `message` says what failed, where, and what to do. It never contains a value. */
export class VaultError extends Error {
  /** Only this constructor sets it, so an object that imitates a `VaultError` is not taken for one. */
  readonly #isGenuine = true
  readonly code: ErrorCode
  readonly httpStatus: number
  readonly grpcCode: number
  /** At most 25. Empty if there is nothing to locate. */
  readonly details: readonly ErrorDetail[]

  constructor(code: ErrorCode, message: string, details: ErrorDetails = [], { cause, httpStatus }: VaultErrorOptions = {}) {
    super(message.slice(0, MAX_MESSAGE_LENGTH), cause === undefined ? undefined : { cause })
    this.name = 'VaultError'
    this.code = code
    this.httpStatus = httpStatus ?? STATUSES[code].http
    this.grpcCode = STATUSES[code].grpc
    this.details = toList(details).slice(0, MAX_DETAILS)
  }

  /** True for an error that this constructor made. Runs no code of the object: a Proxy can throw even in `instanceof`. */
  static isGenuine(error: unknown): error is VaultError {
    return typeof error === 'object' && error !== null && #isGenuine in error && error.#isGenuine
  }
}

/** True for a `VaultError`, optionally of one code. Also recognizes errors of another copy of the package. */
export function isVaultError(error: unknown, code?: ErrorCode): error is VaultError {
  if (VaultError.isGenuine(error)) return code === undefined || error.code === code
  try {
    return error instanceof Error && error.name === 'VaultError' && (code === undefined || (error as VaultError).code === code)
  } catch {
    return false // A Proxy or a getter threw.
  }
}

/** Returns the HTTP status and gRPC code for an error. Any other error than a `VaultError` is `internal`: 500 and 13. */
export function statusOf(error: unknown): Status {
  return isVaultError(error) ? { http: error.httpStatus, grpc: error.grpcCode } : STATUSES.internal
}

/**
 * True for an error that is the request's own. After any other a transaction cannot go on: storage is lost, another writer won, or the
 * catalog must be read again. One damaged record is the request's own too.
 */
export function isRefusal(error: unknown): error is VaultError {
  return VaultError.isGenuine(error) && (error.httpStatus < 500 || error.code === 'data_loss' || refusals.has(error))
}

/** Errors that are the request's own although their code says otherwise. */
const refusals = new WeakSet<VaultError>()

/** Returns an error that is the request's own, whatever its code. */
export function asRefusal<E extends VaultError>(error: E): E {
  refusals.add(error)
  return error
}

/** True for an error after which it is unknown whether a change is stored: `outcome_unknown` or `unavailable`. */
export function mayBeStored(error: unknown): boolean {
  return isVaultError(error) && mayBeStoredCode(error.code)
}

/** The same for the code of an error. */
export function mayBeStoredCode(code: ErrorCode | undefined): boolean {
  return code === 'unavailable' || code === 'outcome_unknown'
}

/** A message in parts, made by `say`. The parts that are names can be masked, because others than the caller read the audit trail. */
export interface Sentence {
  readonly texts: readonly string[]
  readonly pieces: readonly Piece[]
}

/** A part of a sentence. A string is a name of the schema or of the request, printed in double quotes. Fixed text goes through `words`. */
export type Piece = string | number | Sentence

/** Returns whether a text is the name of a table, a column or a column group. Any other text may be a value. */
export type IsName = (text: string) => boolean

/** Replaces a name in the audit trail that the schema does not have: a caller may have passed a value in its place. */
export const UNKNOWN_NAME = '*UNKNOWN*'

/** Returns a sentence: say`Table ${name} does not exist.` */
export function say(texts: TemplateStringsArray, ...pieces: readonly Piece[]): Sentence {
  return { texts, pieces }
}

/** Returns fixed text as a sentence, printed unchanged: a list of options, a kind, a reason. Never text of a caller. */
export function words(text: string): Sentence {
  return { texts: [text], pieces: [] }
}

/** Returns a sentence as text for the caller. With `isName`, returns it for the audit trail: names that the schema does not have are masked. */
export function print({ texts, pieces }: Sentence, isName?: IsName): string {
  return texts.map((text, index) => text + printPiece(pieces[index], isName)).join('')
}

/** An error without the name of the operation that failed. `perform` puts "Insert failed." before its sentence. */
export class Fault extends VaultError {
  /** Node prints the name of the class beside that of the error where they differ: callers know `VaultError` only. A static block or field would stay in every bundle. */
  static override get name(): string {
    return 'VaultError'
  }

  /** Private, because it contains the names as the caller gave them. */
  readonly #sentence: Sentence

  constructor(code: ErrorCode, sentence: Sentence, details?: ErrorDetails, cause?: Error) {
    super(code, print(sentence), details, { cause })
    this.#sentence = sentence
  }

  /** Returns the message for the audit trail: a name that the schema does not have is *UNKNOWN*. */
  recordedText(isName: IsName): string {
    return print(this.#sentence, isName)
  }

  /** Returns an error of one part of an operation as a fault of the whole: `before` begins its sentence. Keeps it as cause, because a storage recognizes an error of its own there. */
  static within(before: Sentence, error: VaultError, details: ErrorDetails): Fault {
    const sentence = Fault.isFault(error) ? error.#sentence : words(error.message)
    return new Fault(error.code, say`${before} ${sentence}`, details, error)
  }

  /** True for a fault. Runs no code of the object, as `VaultError.isGenuine`. */
  static isFault(error: unknown): error is Fault {
    return typeof error === 'object' && error !== null && #sentence in error
  }
}

/** Returns a template tag that makes a fault: fault('not_found', { table })`Table ${table} does not exist.` */
export function fault(
  code: ErrorCode,
  details?: ErrorDetails,
): (texts: TemplateStringsArray, ...pieces: readonly Piece[]) => Fault {
  return (texts, ...pieces) => new Fault(code, { texts, pieces }, details)
}

/**
 * Runs `make` without stacks in the errors that it makes or throws: a stack costs several times what the error itself costs. Only for faults
 * of operations, whose callers get another error, made by `perform`, with a stack that begins at their own call, and for errors that a
 * function of the platform makes and catches itself.
 */
export function withoutStack<T>(make: () => T): T {
  const limit: unknown = Reflect.get(Error, 'stackTraceLimit')
  // Only some engines have the limit, and an application can have frozen it.
  if (typeof limit !== 'number' || !Reflect.set(Error, 'stackTraceLimit', 0)) return make()
  try {
    return make()
  } finally {
    Reflect.set(Error, 'stackTraceLimit', limit)
  }
}

/** Returns a name from a request for an error: unchanged if it has the form of a name. Otherwise returns a description, because it may be a value. */
export function printableName(name: unknown): string {
  return isNameShaped(name) ? name : '(not a valid name)'
}

function isNameShaped(name: unknown): name is string {
  return typeof name === 'string' && name.length <= MAX_NAME_LENGTH && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)
}

function printPiece(piece: Piece | undefined, isName: IsName | undefined): string {
  if (piece === undefined) return ''
  if (typeof piece === 'object') return print(piece, isName)
  if (typeof piece === 'number') return String(piece)
  if (isName?.(piece) === false) return UNKNOWN_NAME
  return isNameShaped(piece) ? `"${piece}"` : printableName(piece)
}

function toList(details: ErrorDetails): readonly ErrorDetail[] {
  if (isList(details)) return details
  return Object.keys(details).length === 0 ? [] : [details]
}

/** `Array.isArray` for a readonly list. */
function isList(details: ErrorDetails): details is readonly ErrorDetail[] {
  return Array.isArray(details)
}
