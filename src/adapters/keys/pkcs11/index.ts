/** Entry point "strongroom/keys/pkcs11": root keys wrapped by a key of a PKCS#11 token, such as a hardware security module. */
export { type Pkcs11KeysOptions, pkcs11Keys } from './pkcs11-keys.ts'
