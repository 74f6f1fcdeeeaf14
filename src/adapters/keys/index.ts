/** Entry point "strongroom/keys": providers of a vault's key-encryption key, and the signer of its checkpoints. */
export type { KeyProvider, Signer, WrappedKey } from '../../core/ports/crypto.ts'
export { type LocalKeysOptions, localKeys } from './local-keys.ts'
export { type LocalSignerOptions, localSigner } from './local-signer.ts'
export { type RecoverableKeysOptions, type RecoveryKeysOptions, recoverableKeys, recoveryKeys } from './recovery-keys.ts'
export {
  type KeyService,
  type KeyServiceFailure,
  type KeyServiceLimits,
  type KeyServiceTask,
  serviceKeys,
} from './services/service-keys.ts'
