/** Opens what a configuration describes: storage, keys, blobs, scanner, and the vault. */
import type { FileScanner } from '../../adapters/scanner/index.ts'
import type { BlobStore } from '../../blob-port.ts'
import { createVault, type KeyProvider, type Log, type Metrics } from '../../index.ts'
import type { StorageHandle } from '../../storage-port.ts'
import type { AnyVault } from './any-vault.ts'
import type { KeysConfig, StorageConfig, VaultConfig } from './define-config.ts'
import type { LoadedConfig } from './load-config.ts'
import { readSecret, readVariable, type SecretSource } from './secrets.ts'

/** Ports of the vault that the command adds. */
export interface VaultPorts {
  readonly log?: Log
  readonly metrics?: Metrics
}

/** What opening needs besides the configuration. */
export interface OpeningContext extends VaultPorts {
  readonly environment: SecretSource['environment']
  readonly signal?: AbortSignal
}

/** Opens the vault. The caller closes it. Throws `CommandFailure` for a secret that is missing, and what `createVault` throws. */
export async function openVault({ config, pathOf }: LoadedConfig, { environment, ...ports }: OpeningContext): Promise<AnyVault> {
  const source: SecretSource = { environment, pathOf }
  const { storage: storageConfig, keys: keysConfig, blobs, scanner, ...options } = config.vault
  const keys = await openKeys(keysConfig, source)
  const storage = await openStorage(storageConfig, source)
  const optional = {
    ...(blobs === undefined ? {} : { blobs: await openBlobs(blobs, source) }),
    ...(scanner === undefined ? {} : { scanner: await openScanner(scanner) }),
  }
  try {
    return await createVault({ ...options, ...ports, ...optional, storage, keys })
  } catch (error) {
    await storage.close()
    throw error
  }
}

/** Opens the storage of a configuration, without a key. The caller closes it. */
export async function openStorage(storage: StorageConfig, source: SecretSource): Promise<StorageHandle> {
  if (typeof storage === 'function') return storage()
  if ('sqlite' in storage) {
    const { sqliteStorage } = await import('../../adapters/sqlite/index.ts')
    return sqliteStorage({ ...storage.sqlite, filename: source.pathOf(storage.sqlite.filename) })
  }
  const { connectionString, ...options } = storage.postgres
  const { postgresStorage } = await import('../../adapters/postgres/index.ts')
  const address = await readSecret(connectionString, 'vault.storage.postgres.connectionString', source)
  return postgresStorage({ ...options, connectionString: address })
}

/** Opens the key provider of a configuration. */
export async function openKeys(keys: KeysConfig, source: SecretSource): Promise<KeyProvider> {
  if (typeof keys === 'function') return keys()
  if ('transit' in keys) {
    const { token, ...options } = keys.transit
    const { transitKeys } = await import('../../adapters/keys/transit/index.ts')
    return transitKeys({ ...options, token: () => readSecret(token, 'vault.keys.transit.token', source) })
  }
  if ('pkcs11' in keys) {
    const { pin, ...options } = keys.pkcs11
    const { pkcs11Keys } = await import('../../adapters/keys/pkcs11/index.ts')
    return pkcs11Keys({ ...options, pin: () => readSecret(pin, 'vault.keys.pkcs11.pin', source) })
  }
  const { localKeys } = await import('../../adapters/keys/index.ts')
  if ('file' in keys) {
    return localKeys({ file: source.pathOf(keys.file), olderFiles: (keys.olderFiles ?? []).map(source.pathOf) })
  }
  const read = (name: string) => readVariable(name, 'vault.keys', source.environment)
  return localKeys({ key: read(keys.env), olderKeys: (keys.olderEnvs ?? []).map(read) })
}

/** Opens the blob store of a configuration. */
export async function openBlobs(blobs: NonNullable<VaultConfig['blobs']>, source: SecretSource): Promise<BlobStore> {
  if (typeof blobs === 'function') return blobs()
  const { folderBlobs } = await import('../../adapters/blobs/index.ts')
  return folderBlobs({ directory: source.pathOf(blobs.directory) })
}

async function openScanner(scanner: NonNullable<VaultConfig['scanner']>): Promise<FileScanner> {
  if (typeof scanner === 'function') return scanner()
  const { clamdScanner } = await import('../../adapters/scanner/index.ts')
  return clamdScanner(scanner.clamd)
}
