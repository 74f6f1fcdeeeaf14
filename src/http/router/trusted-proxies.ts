/** Which connections are proxies of the host, whose account of the client is believed. */
import { BlockList, isIP } from 'node:net'
import { VaultError } from '../../index.ts'
import { normalizeAddress } from './ip-address.ts'

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
