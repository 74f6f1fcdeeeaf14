/** The entry point "strongroom/config": the type of strongroom.config.ts. */
export { type Config, defineConfig, type KeysConfig, type Secret, type StorageConfig, type VaultConfig } from './define-config.ts'
export type { HttpConfig, ServerConfig } from './server-config.ts'
