/** The address of the client, in one form, behind the proxies that the host trusts. */

import { BlockList, isIP, SocketAddress } from 'node:net'
import { VaultError } from '../../index.ts'
import type { HttpRequest } from './http-message.ts'

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

/**
 * The proxies in front of the server: a list of addresses, of networks as `10.0.0.0/8`, and of `loopback`; or the number of proxies that every
 * request passes. A number is only safe if no request can reach the server past them.
 */
export type TrustedProxies = readonly string[] | number

/** Says whether a hop is a proxy of the host. Hop 0 is the connection itself; hop 1 is the client of that proxy. */
export type TrustsHop = (address: string, hop: number) => boolean

const LOOPBACK = ['127.0.0.0/8', '::1']

/** Checks the option. Throws `invalid_request`. */
export function parseTrustedProxies(given: TrustedProxies): TrustsHop {
  if (typeof given === 'number') {
    if (!Number.isInteger(given) || given < 0) throw invalid('trustedProxies', 'a whole number of proxies, from 0')
    return (_address, hop) => hop < given
  }
  if (!Array.isArray(given)) throw invalid('trustedProxies', 'a list of addresses and networks, or a number of proxies')
  const networks = new BlockList()
  for (const [index, entry] of given.entries()) {
    for (const network of entry === 'loopback' ? LOOPBACK : [entry]) add(networks, network, `trustedProxies[${index}]`)
  }
  return (address) => isIP(address) !== 0 && networks.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')
}

function add(networks: BlockList, entry: unknown, member: string): void {
  const [text = '', length, ...rest] = typeof entry === 'string' ? entry.split('/') : []
  const address = isIP(text) === 0 ? undefined : normalizeAddress(text)
  // A mapped network would never match, because the addresses compared with it are not mapped.
  const family = address === undefined || (length !== undefined && isIP(address) !== isIP(text)) ? 0 : isIP(address)
  const bits = family === 4 ? 32 : 128
  const prefix = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN
  if (address === undefined || family === 0 || rest.length > 0 || !(prefix <= bits)) {
    throw invalid(member, 'an address, a network as 10.0.0.0/8, or loopback')
  }
  networks.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6')
}

function invalid(member: string, expected: string): VaultError {
  return new VaultError('invalid_request', `Invalid option ${member}. Specify ${expected}.`)
}
