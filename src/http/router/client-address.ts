/** The address of the client, behind the proxies of the host. */
import type { HttpRequest } from './http-message.ts'
import { normalizeAddress } from './ip-address.ts'
import type { TrustsHop } from './trusted-proxies.ts'

/** The header in which the proxies of the host say for whom they ask. Any other one is the client's, and is not read. */
export type ForwardedHeader = 'x-forwarded-for' | 'forwarded'

/** A pair of `Forwarded` (RFC 7239), as `for="[2001:db8::1]:443"`. */
const PAIR = /([\w-]+)=(?:"([^"\\]*)"|([^\s",;=]+))/
const PAIRS = new RegExp(PAIR, 'g')
/** Pairs of one proxy. */
const ELEMENT = new RegExp(`^${PAIR.source}(?:\\s*;\\s*${PAIR.source})*$`)

/**
 * Returns the normalized address of the client: of the connection, or, as long as that is a trusted proxy, the address that it names.
 * What the client itself sent is behind the last trusted one and is never read. Undefined if the connection has no address.
 */
export function clientAddress(
  request: Pick<HttpRequest, 'address' | 'header'>,
  trusts: TrustsHop,
  header: ForwardedHeader,
): string | undefined {
  let client = normalizeAddress(request.address)
  if (!trusts(client ?? '', 0)) return client
  // Split at every comma, also in quotes, so that nothing the client wrote before can change how a later entry is read.
  const entries = (request.header(header) ?? '').split(',')
  for (let hop = 1; hop <= entries.length; hop++) {
    const named = addressIn(entries[entries.length - hop] ?? '', header)
    // An entry that is no address, as "unknown": the proxy that wrote it is the last one that is known.
    if (named === undefined) return client
    client = named
    if (!trusts(client, hop)) return client
  }
  return client
}

/** Returns the address in one entry of the header. */
function addressIn(entry: string, header: ForwardedHeader): string | undefined {
  const text = entry.trim()
  if (header === 'x-forwarded-for') return normalizeAddress(text)
  if (!ELEMENT.test(text)) return undefined
  const named = [...text.matchAll(PAIRS)].filter(([, name]) => name?.toLowerCase() === 'for')
  const [, , quoted, bare] = named[0] ?? []
  return named.length === 1 ? normalizeAddress(quoted ?? bare ?? '') : undefined
}
