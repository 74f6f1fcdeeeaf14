/** Entry point "strongroom/keys": providers of a vault's key-encryption key, and the signer of its checkpoints. */
export type { KeyProvider, Signer, WrappedKey } from '../../core/ports/crypto.ts'
export { type Ed25519SignerOptions, ed25519Signer, type LocalKeysOptions, localKeys } from './local-keys.ts'
export {
  type KeyService,
  type KeyServiceFailure,
  type KeyServiceLimits,
  type KeyServiceTask,
  serviceKeys,
} from './services/service-keys.ts'
