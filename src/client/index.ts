/** The entry point "strongroom/client": a vault over HTTP, with the session of the library. It runs wherever fetch does. */
export { isVaultError, VaultError } from '../core/errors.ts'
export type { ClientCredentials } from './bearer-source.ts'
export { type ConnectOptions, connectVault, type RemoteSession } from './connect-vault.ts'
