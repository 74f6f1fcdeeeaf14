/** Addresses in one form, so that equal ones have equal text. */
import { isIP, SocketAddress } from 'node:net'

/** An address, with its port or not: `192.0.2.1`, `192.0.2.1:443`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:443`. */
const WITH_PORT = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/

const MAPPED_PREFIX = '::ffff:'

/** Longest text that is looked at, in characters: an IPv6 address with a zone and a port is shorter. */
const MAX_LENGTH = 100

/**
 * Returns an address without port, brackets and zone: IPv4 as four numbers, also where it is mapped into IPv6, and IPv6 in its shortest form
 * (at most 39 characters). Undefined for any other text.
 */
export function normalizeAddress(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return undefined
  // Nearly all addresses of connections are such: IPv4, or mapped as a server of both families sees it.
  const plain = text.startsWith(MAPPED_PREFIX) ? text.slice(MAPPED_PREFIX.length) : text
  if (isIP(plain) === 4) return plain
  const parts = WITH_PORT.exec(text)
  const address = (parts?.[1] ?? parts?.[2] ?? text).replace(/%[^%]*$/, '')
  const family = isIP(address)
  if (family === 4) return address
  if (family !== 6) return undefined
  const short = new SocketAddress({ address, family: 'ipv6' }).address
  const mapped = short.startsWith(MAPPED_PREFIX) ? short.slice(MAPPED_PREFIX.length) : ''
  return isIP(mapped) === 4 ? mapped : short
}
