/** The door "strongroom/keys": where a vault's key-encryption key may live, and what signs its checkpoints. */
export type { KeyProvider, WrappedSecret } from '../../core/ports/keys.ts'
export type { Signer } from '../../core/ports/signer.ts'
export { type Ed25519SignerOptions, ed25519Signer } from './ed25519-signer.ts'
export { type LocalKeysOptions, localKeys } from './local-keys.ts'
