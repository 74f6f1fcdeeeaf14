/** The door "strongroom/keys": where a vault's key-encryption key may live. */
export type { KeyProvider, WrappedSecret } from '../../core/ports/keys.ts'
export { type LocalKeysOptions, localKeys } from './local-keys.ts'
