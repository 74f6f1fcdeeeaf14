/** Carries the requests of a leak check over real sockets, and keeps every byte of the answers that is no result. */
import { inspect } from 'node:util'
import { type ErrorCode, type ErrorDetail, STATUSES, VaultError } from '../../../src/index.ts'
import type { LeakRequest } from '../leaks/known-values.ts'
import type { OpenTransport } from '../leaks/send.ts'
import { memberOf } from './answer-faults.ts'
import { carried, wireRequestOf } from './request-over-http.ts'
import { type Distortion, knownCallers, serveRouter } from './serve-router.ts'
import type { WireAnswer } from './wire.ts'

type Members = Readonly<Record<string, unknown>>

/** Returns a transport over HTTP, with an optional fault. */
export function overHttp(distort?: Distortion): OpenTransport {
  return async (vault, { caller, noise }) => {
    const line = (fields: object, message: string): void => void noise.push(`${inspect(fields, { depth: 12 })} ${message}`)
    const log = { warn: line, error: line }
    const served = await serveRouter({ vaults: vault, authenticate: knownCallers({ caller }), log }, distort)
    const wire = served.wire()
    return {
      isInProcess: false,
      carried,
      async send(request) {
        const answer = await wire.send({ ...wireRequestOf(request), headers: HEADERS })
        noise.push(answer.head)
        if (answer.status >= 400) throw errorOf(answer, noise)
        return resultOf(request, answer.json)
      },
      close: () => served.close(),
    }
  }
}

const HEADERS = { authorization: 'Bearer caller', 'content-type': 'application/json', origin: 'https://app.example' } as const

/** Returns the error of an envelope. Its bytes may hold no value either. */
function errorOf({ status, text, json }: WireAnswer, noise: string[]): Error {
  noise.push(text)
  const error = memberOf(json, 'error')
  const codes = Object.keys(STATUSES) as ErrorCode[] // The keys are the codes.
  const code = codes.find((one) => STATUSES[one].grpc === memberOf(error, 'grpc_code') && STATUSES[one].http === status)
  // The details go into the text that is searched, whatever they are.
  const details = (memberOf(error, 'details') ?? []) as readonly ErrorDetail[]
  return new VaultError(code ?? 'invalid_request', String(memberOf(error, 'message')), details)
}

/** Returns an answer in the members of the session's results, with the answer itself beside them. */
function resultOf({ method, args }: LeakRequest, json: unknown): unknown {
  const body: Members = Object(json)
  const records = Array.isArray(body.records) ? { records: body.records.map(recordOf) } : {}
  if (method === 'getOne') return Object.assign(recordOf(body), { answer: json })
  if (method !== 'batch') return { ...records, answer: json }
  const [items, options] = args
  const areReads = (Array.isArray(items) ? items : []).map((item) => Object.hasOwn(Object(item), 'get'))
  const isWrapped = memberOf(options, 'continueOnError') === true
  const responses = Array.isArray(body.responses) ? body.responses : []
  return { responses: responses.map((response, index) => itemOf(response, { isRead: areReads[index] === true, isWrapped })) }
}

/** A record with its id beside its fields. */
function recordOf(record: unknown): Record<string, unknown> {
  const { fields, svc_id, ...others }: Members = Object(record)
  if (typeof fields !== 'object' || fields === null) return svc_id === undefined ? others : { id: svc_id, ...others }
  const { svc_id: id, ...values }: Members = { ...fields }
  return { ...others, ...(id === undefined ? {} : { id }), fields: values }
}

/** What a response of a batch is. */
interface ResponseKind {
  readonly isRead: boolean
  readonly isWrapped: boolean
}

function itemOf(response: unknown, { isRead, isWrapped }: ResponseKind): unknown {
  const payload = isWrapped ? memberOf(response, 'Body') : response
  if (isWrapped && memberOf(response, 'Status') !== 200)
    return { ok: false, error: new VaultError('internal', String(memberOf(payload, 'error'))) }
  return { ok: true, value: isRead ? recordOf(payload) : { answer: payload } }
}
