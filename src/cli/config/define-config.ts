/** The type of strongroom.config.ts: a vault and its server as data. Secrets are named, never written down. */
import type { FileScanner } from '../../adapters/scanner/index.ts'
import type { BlobStore } from '../../blob-port.ts'
import type { KeyProvider, Limits, PolicyFor, Schema, SchemaDefinition } from '../../index.ts'
import type { StorageHandle } from '../../storage-port.ts'
import type { HttpConfig, ServerConfig } from './server-config.ts'

/** Where a secret is: the name of an environment variable, or a file that only the process can read. */
export type Secret = { readonly env: string; readonly file?: undefined } | { readonly file: string; readonly env?: undefined }

/** Where the vault is stored. Exactly one of the members, or a function for what data cannot say. Paths begin at the folder of the configuration. */
export type StorageConfig =
  | {
      readonly sqlite: {
        readonly filename: string
        readonly synchronous?: 'full' | 'normal'
        readonly driver?: 'better-sqlite3' | 'node:sqlite'
      }
    }
  | {
      readonly postgres: {
        readonly connectionString: Secret
        readonly schema?: string
        readonly maxConnections?: number
        readonly preparedStatements?: boolean
      }
    }
  | (() => StorageHandle)

/** What wraps the root keys. Exactly one of the members, or a function, such as `() => awsKmsKeys({ … })`. */
export type KeysConfig =
  | { readonly file: string; readonly olderFiles?: readonly string[] }
  | { readonly env: string; readonly olderEnvs?: readonly string[] }
  | {
      readonly transit: {
        readonly url: string
        readonly key: string
        readonly token: Secret
        readonly mount?: string
        readonly namespace?: string
      }
    }
  | {
      readonly pkcs11: { readonly module: string; readonly tokenLabel: string; readonly keyLabel: string; readonly pin: Secret }
    }
  | (() => KeyProvider)

/** The vault. Members that are not explained here are those of `createVault`. */
export interface VaultConfig<S extends SchemaDefinition = SchemaDefinition, Role extends string = string> {
  readonly id: string
  readonly schema: Schema<S>
  readonly storage: StorageConfig
  readonly keys: KeysConfig
  readonly policy?: PolicyFor<S, Role>
  readonly accountId?: string
  readonly keyFingerprint?: string
  readonly revokeCheckMs?: number
  readonly cryptography?: 'wasm' | 'node'
  readonly audit?: 'on' | 'off'
  readonly limits?: Partial<Limits>
  /** Where the contents of files are. Default: the storage of the vault. */
  readonly blobs?: { readonly directory: string } | (() => BlobStore)
  /** What scans files, such as `{ clamd: { host: '127.0.0.1', port: 3310 } }`. Default: files are not scanned. */
  readonly scanner?:
    | { readonly clamd: { readonly host: string; readonly port: number } | { readonly socket: string } }
    | (() => FileScanner)
  readonly onInfected?: 'quarantine' | 'delete'
}

/** The content of strongroom.config.ts. */
export interface Config<S extends SchemaDefinition = SchemaDefinition, Role extends string = string> {
  readonly vault: VaultConfig<S, Role>
  /** Options of the HTTP interface. */
  readonly http?: HttpConfig
  /** Options of `strongroom serve`. */
  readonly server?: ServerConfig
}

/** Returns the configuration as it is. The compiler checks it, and infers the schema; the command checks it again when it reads it. */
export function defineConfig<const S extends SchemaDefinition, const Role extends string = never>(
  config: Config<S, Role>,
): Config<S, Role> {
  return config
}
