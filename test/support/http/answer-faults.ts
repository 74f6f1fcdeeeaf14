/** What is wrong with an answer, whatever its route: status, headers, and the bounds of the error envelope. */
import { isErrorCode } from '../../../src/core/errors.ts'
import type { WireAnswer } from './wire.ts'

/** The headers that every answer has, from the design and not from the sources. */
const HEADERS: Readonly<Record<string, RegExp>> = {
  'x-request-id': /^[\w-]{36}$/,
  'cache-control': /^no-store$/,
  'x-content-type-options': /^nosniff$/,
  'referrer-policy': /^no-referrer$/,
  'x-frame-options': /^DENY$/,
  'content-security-policy': /default-src 'none'/,
  'content-length': /^\d+$/,
}

const JSON_TYPE = /^application\/json(; charset=utf-8)?$/

/** Returns one sentence for each fault of an answer. `statuses` are those that its route documents, and `type` is the content type of its 200. */
export function faultsOfAnswer(answer: WireAnswer, statuses: readonly number[], type = 'application/json'): string[] {
  const { status, headers, json } = answer
  const isJson = status >= 400 || type === 'application/json'
  const typeForm = isJson ? JSON_TYPE : new RegExp(`^${type}(; charset=utf-8)?$`)
  // Lines that are sent as they come have no length, and are cut into chunks.
  const isStream = !isJson && type === 'application/x-ndjson' && headers.get('transfer-encoding') === 'chunked'
  const needed = Object.entries(HEADERS).filter(([name]) => !isStream || name !== 'content-length')
  const wrong = needed.filter(([name, form]) => !form.test(headers.get(name) ?? ''))
  return [
    ...(statuses.includes(status) ? [] : [`status ${status} is not one of ${statuses.join()}`]),
    ...wrong.map(([name]) => `header ${name} is ${headers.get(name) ?? 'absent'}`),
    ...(typeForm.test(headers.get('content-type') ?? '')
      ? []
      : [`the content type is ${headers.get('content-type') ?? 'absent'}`]),
    ...(isJson && json === undefined ? ['the body is no JSON'] : []),
    ...(status >= 400 ? faultsOfEnvelope(json, status) : []),
  ]
}

/** Returns one sentence for each fault of an error envelope. Source: specification, "Error envelope". */
export function faultsOfEnvelope(json: unknown, status: number): string[] {
  const error = memberOf(json, 'error')
  const details = memberOf(error, 'details')
  const message = memberOf(error, 'message')
  const httpStatus = memberOf(error, 'http_status')
  const grpc = memberOf(error, 'grpc_code')
  return [
    ...stray(json, ['error']),
    ...stray(error, ['grpc_code', 'http_code', 'http_status', 'message', 'details', 'code']),
    ...(isErrorCode(memberOf(error, 'code')) ? [] : ['code is unknown to the library']),
    ...(memberOf(error, 'http_code') === status ? [] : ['http_code is not the status']),
    ...(Number.isInteger(grpc) && Number(grpc) >= 0 && Number(grpc) <= 16 ? [] : ['grpc_code is not from 0 to 16']),
    ...(isText(httpStatus, 100) ? [] : ['http_status is no text of 1 to 100 characters']),
    ...(isText(message, 1000) ? [] : ['message is no text of 1 to 1000 characters']),
    ...(areDetails(details) ? [] : ['details is no list of at most 25 objects']),
  ]
}

/** Returns the member of an object; undefined if it is no object. */
export function memberOf(part: unknown, name: string): unknown {
  return typeof part === 'object' && part !== null ? Reflect.get(part, name) : undefined
}

function stray(part: unknown, known: readonly string[]): string[] {
  const names = typeof part === 'object' && part !== null ? Object.keys(part) : []
  return names.filter((name) => !known.includes(name)).map((name) => `the envelope has a member ${name}`)
}

function isText(given: unknown, length: number): boolean {
  return typeof given === 'string' && given.length > 0 && given.length <= length
}

function areDetails(given: unknown): boolean {
  const isList = Array.isArray(given) && given.length <= 25
  return isList && given.every((detail) => typeof detail === 'object' && detail !== null && !Array.isArray(detail))
}
