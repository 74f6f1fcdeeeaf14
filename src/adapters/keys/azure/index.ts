/** Entry point "strongroom/keys/azure": root keys wrapped by Azure Key Vault or Managed HSM. */
export { type AzureKeyClientLike, type AzureKeysOptions, azureKeys } from './azure-keys.ts'
