/** Entry point "strongroom/keys/google": root keys wrapped by Google Cloud KMS. */
export { type GoogleKmsClientLike, type GoogleKmsKeysOptions, googleKmsKeys } from './google-kms-keys.ts'
