/** The options of JWTs: issuers, their keys, and what the host makes of their claims. */
import * as z from 'zod'
import { readInput } from '../../core/util/boundary.ts'
import { readOptions } from '../../core/util/options.ts'
import { type Clock, VaultError } from '../../index.ts'
import { createRemoteKeys, type KeySource, readStaticKeys, type StaticKey } from './issuer-keys.ts'
import { isJwtAlgorithm, isSymmetric, type JwtAlgorithm } from './jwt-algorithms.ts'
import { type JwtClaims, nowOf, type TokenRules } from './verify-token.ts'

/** Whose tokens an issuer makes, as events record it. Callers of `SERVICE_ACCOUNT_JWT` are service accounts, all others users. */
export type JwtMode = 'IDP_JWT' | 'PAT_JWT' | 'SERVICE_ACCOUNT_JWT'

/** An issuer whose tokens are accepted. It has either `jwks` or `keys`. */
export interface JwtIssuer {
  /** The `iss` claim of its tokens. */
  readonly issuer: string
  /** The `aud` claim must contain one of these. */
  readonly audience: string | readonly string[]
  /** The algorithms of its tokens. Algorithms of shared secrets (HS256, HS384, HS512) cannot be mixed with others. */
  readonly algorithms: readonly JwtAlgorithm[]
  /** Address of its public keys (JWKS). It begins with https, except on this machine. */
  readonly jwks?: string
  /** Its keys, at most 32. One with a `kid` verifies only tokens of this key id, or of none. */
  readonly keys?: readonly StaticKey[]
  /** Default `IDP_JWT`. */
  readonly mode?: JwtMode
  /** Returns the list of ids of the vaults that a token is for. Anything but a list of texts refuses the token. There is no default. */
  vaults(claims: JwtClaims): unknown
}

/** Options of `jwt`. Their functions get verified claims. A token is refused if one of them throws, or returns something else. */
export interface JwtOptions {
  readonly issuers: readonly JwtIssuer[]
  /** Returns the list of the caller's roles in a vault: at most 100 texts of 1 to 128 characters. */
  roles(claims: JwtClaims, vaultID: string): unknown
  /**
   * Returns the caller's name in events, 1 to 320 characters. Default: of users the `email` claim, unless `email_verified` is false, then
   * `sub`; of service accounts `sub`.
   */
  actor?(claims: JwtClaims): unknown
  /** Default: the clock of the system. */
  readonly clock?: Clock
}

/** An issuer with its keys. */
export interface ReadyIssuer extends TokenRules {
  readonly mode: JwtMode
  readonly vaults: JwtIssuer['vaults']
}

/** Checked options. */
export interface ReadyOptions extends Pick<JwtOptions, 'roles' | 'actor'> {
  readonly issuers: ReadonlyMap<string, ReadyIssuer>
  /** Returns the time. */
  now(): Date
}

const nonEmpty = z.string().min(1).max(1000)
const functionOf = <F>() => z.custom<F>((value) => typeof value === 'function')

const issuerShape = z.object({
  issuer: nonEmpty,
  audience: z.union([nonEmpty.transform((one) => [one]), z.array(nonEmpty).min(1)]),
  algorithms: z.array(z.custom<JwtAlgorithm>(isJwtAlgorithm)).min(1),
  jwks: nonEmpty.optional(),
  keys: z.array(z.unknown()).min(1).max(32).optional(),
  mode: z.enum(['IDP_JWT', 'PAT_JWT', 'SERVICE_ACCOUNT_JWT']).default('IDP_JWT'),
  vaults: functionOf<JwtIssuer['vaults']>(),
})

const shape = z.object({
  issuers: z.array(issuerShape).min(1),
  roles: functionOf<JwtOptions['roles']>(),
  actor: functionOf<NonNullable<JwtOptions['actor']>>().optional(),
  clock: z.custom<Clock>((value) => typeof value === 'object' && value !== null && 'now' in value).optional(),
})

/** Returns a copy of the options and of each issuer. Throws `invalid_request` for a member that is unknown or null. */
function knownOptions(given: JwtOptions): JwtOptions {
  const options = readOptions(given, ['issuers', 'roles', 'actor', 'clock'], { of: 'jwt' })
  if (!Array.isArray(options.issuers)) return options
  const known = Object.keys(issuerShape.shape) as (keyof JwtIssuer)[]
  const issuers: readonly JwtIssuer[] = options.issuers
  return { ...options, issuers: issuers.map((one, index) => readOptions(one, known, { of: 'jwt', member: `issuers[${index}]` })) }
}

/** Checks the options and reads the keys. Throws `invalid_request` and names the invalid member, never its content. */
export function parseJwtOptions(given: JwtOptions): ReadyOptions {
  const {
    roles,
    actor,
    clock,
    issuers: all,
  } = readInput(() => {
    const parsed = shape.safeParse(knownOptions(given))
    if (!parsed.success) throw refused(parsed.error.issues[0])
    return parsed.data
  }, VaultError.isGenuine)
  const issuers = new Map<string, ReadyIssuer>()
  for (const [index, one] of all.entries()) {
    const member = `issuers[${index}]`
    if (issuers.has(one.issuer)) throw invalid(`${member}.issuer`, 'is there twice')
    const { jwks, keys, ...rules } = one
    issuers.set(one.issuer, { ...rules, keys: keysOf({ jwks, keys, algorithms: one.algorithms }, member) })
  }
  return {
    issuers,
    roles,
    ...(actor === undefined ? {} : { actor }),
    now: () => nowOf(clock),
  }
}

interface GivenKeys {
  readonly jwks: string | undefined
  readonly keys: readonly unknown[] | undefined
  readonly algorithms: readonly JwtAlgorithm[]
}

function keysOf({ jwks, keys, algorithms }: GivenKeys, member: string): KeySource {
  const symmetric = algorithms.filter(isSymmetric)
  // With both, a public key could be taken for a secret.
  if (symmetric.length > 0 && symmetric.length < algorithms.length) {
    throw invalid(`${member}.algorithms`, 'mixes shared secrets with public keys')
  }
  if ((jwks === undefined) === (keys === undefined)) throw invalid(member, 'needs either jwks or keys')
  if (keys === undefined) {
    if (symmetric.length > 0) throw invalid(`${member}.jwks`, 'has no shared secrets; specify keys')
    return createRemoteKeys(keyAddress(jwks ?? '', `${member}.jwks`))
  }
  const read = readStaticKeys(keys, algorithms)
  if ('problem' in read) throw invalid(`${member}.keys[${read.index}]`, read.problem)
  return read
}

const LOCAL_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

function keyAddress(text: string, member: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOCAL_HOSTS.has(url.hostname))
  if (url === undefined || !isSafe || url.username !== '' || url.password !== '') {
    throw invalid(member, 'is no https address without a user name')
  }
  return url
}

function refused(issue: z.core.$ZodIssue | undefined): VaultError {
  return invalid(memberAt(issue?.path ?? []), 'is missing or invalid')
}

function memberAt(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .slice(1)
}

function invalid(member: string, problem: string): VaultError {
  return new VaultError('invalid_request', `Invalid options of JWTs: ${member} ${problem}.`)
}
