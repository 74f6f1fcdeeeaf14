/** The envelope of errors, its statuses, and its texts as existing clients know them. Source: specification, "Error envelope", "Errors". */

import { randomUUID } from 'node:crypto'
import { type ErrorCode, type ErrorDetail, isVaultError, statusOf, VaultError } from '../../index.ts'
import type { Names } from '../names.ts'
import type { HttpResponse } from './http-message.ts'
import { jsonResponse, sealed } from './json-response.ts'

/** What the router answers with in place of a response: a `VaultError`, and the status that its route documents. */
export interface Failure {
  readonly error: VaultError
  readonly status: number
}

/** Returns an error as a `VaultError`. Of any other error nothing is said. */
export function toFailure(error: unknown, statuses: readonly ErrorStatus[]): Failure {
  const known = isVaultError(error)
    ? error
    : new VaultError('internal', 'Something unexpected went wrong. The request id finds it in the log.')
  return { error: known, status: documentedStatus(statusOf(known).http, statuses) }
}

/** Returns a status that the route documents: a refusal it does not know is 400, and a failure 500. */
function documentedStatus(status: number, statuses: readonly number[]): number {
  if (statuses.includes(status)) return status
  return status >= 400 && status < 500 ? 400 : 500
}

/** Returns a failure as callers without a credential get it: of what is behind the server, they learn nothing but the code. */
export function withConstantText({ error, status }: Failure): Failure {
  return status < 500 ? { error, status } : { error: new VaultError(error.code, constantText(error.code)), status }
}

function constantText(code: ErrorCode): string {
  switch (code) {
    case 'unavailable':
    case 'aborted':
    case 'storage_full':
      return 'The server cannot process the request now. Send it again later.'
    case 'outcome_unknown':
      return 'It is unknown whether the request was processed. Check before sending it again.'
    default:
      return 'The server failed to process the request. The request id finds it in the log.'
  }
}

/** Returns the response of a failure. */
export function errorResponse(failure: Failure, message?: string): HttpResponse {
  return jsonResponse(failure.status, { error: errorBody(failure, message) })
}

/** A failure in JSON. */
interface ErrorBody {
  readonly grpc_code: number
  readonly http_code: number
  readonly http_status: string
  readonly message: string
  readonly details: readonly ErrorDetail[]
  /** Not in the specification, whose statuses and gRPC codes are the same for some codes. Its clients ignore it. */
  readonly code: ErrorCode
}

/** Returns what the envelope holds. */
export function errorBody({ error, status }: Failure, message = error.message): ErrorBody {
  return {
    grpc_code: error.grpcCode,
    http_code: status,
    http_status: STATUS_TEXTS[status] ?? 'Error',
    message: message.slice(0, MAX_MESSAGE_LENGTH),
    details: error.details.map(toDetail),
    code: error.code,
  }
}

const MAX_MESSAGE_LENGTH = 1000

/** Physical columns mean nothing to a caller. */
function toDetail({ columns: _, ...detail }: ErrorDetail): Omit<ErrorDetail, 'columns'> {
  return detail
}

/** The statuses of errors that the specification documents. */
export type ErrorStatus = 400 | 401 | 404 | 422 | 500

/** All of them, for requests without a route. */
export const ALL_STATUSES: readonly ErrorStatus[] = [400, 401, 404, 422, 500]

/** The reason phrases of RFC 9110. */
export const STATUS_TEXTS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  404: 'Not Found',
  422: 'Unprocessable Content',
  500: 'Internal Server Error',
} satisfies Record<ErrorStatus, string>

/** How the texts of a route's errors name things. */
export interface Wording {
  /** The word that its errors begin with. */
  readonly verb: string
  /** Members of the operation's input under their names on the wire. */
  readonly wireNames?: Readonly<Record<string, string>>
  /** True if the vault's own errors keep their texts. */
  readonly keepsTexts?: boolean | undefined
}

/** Members whose names on the wire are the same for every route. */
const COMMON: Readonly<Record<string, string>> = { orderBy: 'order_by', downloadTickets: 'downloadURL' }

/** What a vault says in words that the wire does not have: of look-ups, and of the items of a batch. */
const SENTENCES: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:where must be an object with one column, |Column .* of where is undefined\.).*/,
    'column_name and column_values must be given together.',
  ],
  [/ cannot be combined with where\./, ' cannot be combined with column_name.'],
  [/(?<=same table, )where(?= and )/, 'column_name, column_values'],
  [/\bvalues of where\b|\bwhere\.\w+/, 'column_values'],
  [/An item must have one of insert, update, get and delete, .*/, 'method must be POST, PUT, GET or DELETE.'],
  [/\b(?:insert|update|get|delete) must be the name of a table\./, 'tableName must be text.'],
  [/(?<= cannot be combined with )insert\./, 'method POST.'],
  [/(?<= cannot be combined with )update\./, 'method PUT.'],
  [/(?<= cannot be combined with )get\./, 'method GET.'],
  [/(?<= cannot be combined with )delete\./, 'method DELETE.'],
  [/\bid refers to an item that deletes its record\./, 'ID refers to a DELETE item, which leaves no record.'],
  [/\bid refers to /, 'ID refers to '],
  [/Unknown member "batchID" of an item\..*/, 'batchID must be a string.'],
]

/** The verb with which an operation of a vault begins its errors. It is not always that of the route. */
const OPERATION = /^[A-Z][a-z]+(?: [A-Za-z]+)* failed\. /

/** Returns the message of an error for the wire. Text in double quotes is a name of the schema or of the request, and stays. */
export function wireMessage(error: VaultError, { verb, wireNames = {}, keepsTexts }: Wording, names: Names): string {
  const prefix = `${verb} failed. `
  const sentence = error.message.replace(OPERATION, '')
  // What a route itself refuses has the names of the wire.
  if (sentence === error.message) return `${prefix}${sentence}`
  if (keepsTexts === true) return error.message
  const unknown = unknownRecord(error, names)
  if (unknown !== undefined) return `${prefix}${unknown}`
  const reworded = SENTENCES.reduce((text, [words, wire]) => text.replace(words, wire), sentence)
  const members = rename(reworded, MEMBER, COMMON)
  return `${prefix}${rename(members, LIST, { ids: names.ids, ...wireNames })}`
}

/** Returns the sentence that existing clients read for an id without a record; undefined for another error. */
function unknownRecord({ code, details, message }: VaultError, { id: name, ids }: Names): string | undefined {
  if (code !== 'not_found' || (!message.includes(' has the id at ') && !message.includes(' has this id'))) return undefined
  const [first] = details
  const place = first?.id ?? (message.includes(' has this id') ? 'This' : `${ids}[${first?.index ?? 0}]`)
  return invalidId(place, name)
}

/** Returns the sentence about an id without a record. */
export function invalidId(place: string, name: string): string {
  return `${place} isn't a valid ${name} ID. Specify a valid ${name}.`
}

/** A member of the request itself: `sortOps.orderBy` is another one than `orderBy`. */
const MEMBER = /(?<![.\w])[A-Za-z]\w*/g

/** A word that the sentence speaks of as a member, and not as the thing. */
const LIST = /(?<=array of )[a-z]+|\b[a-z]+(?=\[| must\b| cannot\b)/g

/** Returns a sentence with members renamed outside of double quotes. */
function rename(sentence: string, member: RegExp, renamed: Readonly<Record<string, string>>): string {
  return sentence
    .split(/("[^"]*")/)
    .map((part, index) => (index % 2 === 1 ? part : part.replace(member, (word) => wordOf(renamed, word))))
    .join('')
}

function wordOf(renamed: Readonly<Record<string, string>>, word: string): string {
  return Object.hasOwn(renamed, word) ? (renamed[word] ?? word) : word
}

/** Returns the envelope of a refusal, with an id of its own. */
export function refusedResponse(code: ErrorCode, sentence: string): HttpResponse {
  const refused = new VaultError(code, `Request failed. ${sentence}`)
  return sealed(errorResponse(toFailure(refused, ALL_STATUSES)), randomUUID())
}

/**
 * Returns the refusal of a body whose transfer encoding no one here decodes; undefined for all others. Node reports one that does not end in
 * "chunked" as an error of the client, and would cut a response that has begun.
 */
export function refusedCoding(coding: string | null | undefined): HttpResponse | undefined {
  if (!coding || !/,\s*chunked\s*$/i.test(coding)) return undefined
  return refusedResponse('unsupported', 'The transfer encoding is not "chunked". Send the body without another one.')
}
