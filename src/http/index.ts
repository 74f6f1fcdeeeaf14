/** The entry point "strongroom/http": vaults over HTTP, in any server. */
export { createHandler, type Handler, toNodeHandler } from './create-handler.ts'
export {
  type ApiKey,
  type ApiKeyFormat,
  type ApiKeyOptions,
  apiKeys,
  type CreatingSession,
  createApiKey,
} from './credentials/api-keys.ts'
export type { Authenticate, Authenticated, CredentialRecord, CredentialRequest, Refused } from './credentials/authenticate.ts'
export {
  isSignedToken,
  resolveSignedToken,
  type SignedDataToken,
  type SignOptions,
  signDataTokens,
} from './credentials/data-tokens.ts'
export {
  type ExchangeOptions,
  exchangeAssertion,
  type IssuingVault,
  type TokenResponse,
} from './credentials/exchange-assertion.ts'
export type { StaticKey } from './credentials/issuer-keys.ts'
export type { JwtAlgorithm } from './credentials/jwt-algorithms.ts'
export { jwt } from './credentials/jwt-authenticator.ts'
export type { JwtIssuer, JwtMode, JwtOptions } from './credentials/jwt-options.ts'
export {
  createServiceAccount,
  type ServiceAccountKey,
  type ServiceAccountOptions,
  serviceAccounts,
} from './credentials/service-accounts.ts'
export type { JwtClaims } from './credentials/verify-token.ts'
export { answerClientError } from './edges/client-error.ts'
export type { ConnectionInfo, FetchHandler } from './edges/fetch-edge.ts'
export { clientAddressOf, type NodeHandler } from './edges/node-edge.ts'
export type { NodeRequest } from './edges/node-request.ts'
export type { Names } from './names.ts'
export type { HandlerOptions, HttpLimits, HttpLog, OnRefused } from './options.ts'
export { LEGACY_TABLES } from './options.ts'
export type { ForwardedHeader, TrustedProxies } from './router/client-address.ts'
export type { AddressOptions } from './router/request-context.ts'
export type { HostedVault, OpenVault } from './vaults/open-vaults.ts'
export type { VaultSource, VaultsOfAccount } from './vaults/vault-directory.ts'
