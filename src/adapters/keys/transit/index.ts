/** Entry point "strongroom/keys/transit": root keys wrapped by the Transit engine of HashiCorp Vault or OpenBao. */
export { type TransitKeysOptions, transitKeys } from './transit-keys.ts'
