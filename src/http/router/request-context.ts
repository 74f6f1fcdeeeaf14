/** What an event records of a request: its ids, its origin and the address of the client. */
import { randomUUID } from 'node:crypto'
import { type RequestContext, VaultError } from '../../index.ts'
import { clientAddress, type ForwardedHeader, parseTrustedProxies, type TrustedProxies } from './client-address.ts'
import type { HttpRequest } from './http-message.ts'

/** How the address of a client is found. */
export interface AddressOptions {
  /** Proxies whose account of the client is believed. Default: none. The address is then that of the connection, whatever the headers say. */
  readonly trustedProxies?: TrustedProxies
  /** The header that the trusted proxies write. Default `x-forwarded-for`. */
  readonly forwardedHeader?: ForwardedHeader
}

/** The members of an event that the request determines. */
export type RequestMembers = Pick<RequestContext, 'traceparent' | 'clientTraceID' | 'origin' | 'ipAddress'> & {
  /** 36 characters, also for the response. */
  readonly requestID: string
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** W3C Trace Context, version 00. The specification calls ids of zeros invalid. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
/** Recorded as sent or not at all: a shortened id would match another request. */
const CLIENT_TRACE_ID = /^[\x21-\x7e]{1,128}$/
/** As RFC 6454 writes it: a scheme, a host, and a port or not; or "null". At most 1,000 characters. */
const ORIGIN = /^(?=.{1,1000}$)(?:null|[a-z][a-z0-9+.-]*:\/\/[a-z0-9._~%:[\]-]+)$/i

/**
 * Returns a function that reads a request. A header that is not well-formed is as if it were absent: it never throws, and never reaches an
 * event. Throws `invalid_request` if an option is invalid.
 */
export function createRequestContext(options: AddressOptions = {}): (request: HttpRequest) => RequestMembers {
  const addressOf = createAddressReader(options)
  return (request) => {
    const requestID = matching(request.header('x-request-id'), UUID) ?? randomUUID()
    const traceparent = matching(request.header('traceparent'), TRACEPARENT)
    const clientTraceID = matching(request.header('x-client-trace-id'), CLIENT_TRACE_ID)
    const origin = matching(request.header('origin'), ORIGIN)
    const ipAddress = addressOf(request)
    // Nearly all requests have no more than these two.
    if (traceparent === undefined && clientTraceID === undefined && origin === undefined && ipAddress !== undefined)
      return { requestID, ipAddress }
    return {
      requestID,
      ...(traceparent === undefined ? {} : { traceparent }),
      ...(clientTraceID === undefined ? {} : { clientTraceID }),
      ...(origin === undefined ? {} : { origin }),
      ...(ipAddress === undefined ? {} : { ipAddress }),
    }
  }
}

/** Returns a function that finds the address of a client, in one form. Throws `invalid_request` if an option is invalid. */
export function createAddressReader({
  trustedProxies = 0,
  forwardedHeader = 'x-forwarded-for',
}: AddressOptions): (request: Pick<HttpRequest, 'address' | 'header'>) => string | undefined {
  const trusts = parseTrustedProxies(trustedProxies)
  if (!['x-forwarded-for', 'forwarded'].includes(forwardedHeader)) {
    throw new VaultError('invalid_request', 'Invalid option forwardedHeader. Specify x-forwarded-for or forwarded.')
  }
  return (request) => clientAddress(request, trusts, forwardedHeader)
}

function matching(value: string | undefined, form: RegExp): string | undefined {
  return value !== undefined && form.test(value) ? value : undefined
}
