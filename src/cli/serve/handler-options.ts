/** The options of the handler: those of the configuration, and the authenticators that its credentials describe. */
import { type Authenticate, apiKeys, type HandlerOptions, type JwtClaims, jwt, serviceAccounts } from '../../http/index.ts'
import type { Config } from '../config/define-config.ts'
import type { ClaimConfig, CredentialsConfig } from '../config/server-config.ts'
import { CommandFailure, EXIT } from '../failure.ts'

/** Options of the handler that the server adds to. */
export type ServedHandler = Omit<HandlerOptions, 'vaults' | 'log' | 'onRefused'>

/** Returns the options. Throws `CommandFailure` if no credential is accepted, and `invalid_request` for a wrong option of JWTs. */
export function handlerOptions({
  vault: { id },
  http = {},
}: Pick<Config, 'http'> & { readonly vault: { readonly id: string } }): ServedHandler {
  const { credentials = {}, ...options } = http
  const authenticate = authenticators(credentials, id)
  if (authenticate.length > 0) return { ...options, authenticate }
  throw new CommandFailure(EXIT.config, 'http.credentials: no kind of credential is accepted. Allow one.')
}

function authenticators(
  { apiKeys: ofKeys = true, serviceAccounts: ofAccounts = true, jwt: ofJwt }: CredentialsConfig,
  id: string,
): Authenticate[] {
  return [
    ...(ofKeys ? [apiKeys()] : []),
    ...(ofAccounts ? [serviceAccounts()] : []),
    ...(ofJwt === undefined ? [] : [jwtAuthenticator(ofJwt, id)]),
  ]
}

function jwtAuthenticator({ issuers, roles, actor }: NonNullable<CredentialsConfig['jwt']>, id: string): Authenticate {
  return jwt({
    issuers: issuers.map(({ vaults, ...issuer }) => ({
      ...issuer,
      vaults: (claims) => (vaults === 'all' ? [id] : claimAt(claims, vaults)),
    })),
    roles: (claims) => claimAt(claims, roles),
    ...(actor === undefined ? {} : { actor: (claims: JwtClaims) => claimAt(claims, actor) }),
  })
}

/** Returns a claim. One whose name has dots comes before a nested one. */
function claimAt(claims: JwtClaims, { claim }: ClaimConfig): unknown {
  if (Object.hasOwn(claims, claim)) return claims[claim]
  return claim.split('.').reduce<unknown>((value, name) => {
    const isObject = typeof value === 'object' && value !== null
    return isObject && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined
  }, claims)
}
