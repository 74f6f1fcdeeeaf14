/** Opens what a configuration describes: storage, keys, blobs, scanner, and the vault. */
import { existsSync } from 'node:fs'
import type { FileScanner } from '../../adapters/scanner/index.ts'
import type { BlobStore } from '../../blob-port.ts'
import {
  createVault,
  isVaultError,
  type KeyProvider,
  type Log,
  type Metrics,
  type Schema,
  type SchemaDefinition,
  storedSchema,
} from '../../index.ts'
import type { StorageHandle } from '../../storage-port.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import type { AnyVault } from './any-vault.ts'
import type { KeysConfig, StorageConfig, VaultConfig } from './define-config.ts'
import type { LoadedConfig } from './load-config.ts'
import { readAddress, readSecret, readVariable, type SecretSource } from './secrets.ts'

/** How a command opens the vault. */
export interface VaultPorts {
  readonly log?: Log
  readonly metrics?: Metrics
  /** Called while a change of the schema that an opening makes goes over rows. */
  readonly onProgress?: (progress: { readonly done: number; readonly total?: number }) => void
  /**
   * True to open it as a server does: a vault is founded where there is none, the schema of the configuration is applied, and due files are scanned.
   * Default: as it is stored, and nothing is changed. A line that looks at a vault must not change it because its folder has another schema.
   */
  readonly serves?: boolean
  /** True for a command that says itself how the schema of the configuration differs from the stored one. */
  readonly comparesSchema?: boolean
}

/** What opening needs besides the configuration. */
export interface OpeningContext extends VaultPorts {
  readonly environment: SecretSource['environment']
  readonly signal?: AbortSignal
  /** Receives what a person should know, as a sentence. */
  readonly note?: (sentence: string) => void
}

/** Opens the vault. The caller closes it. Throws `CommandFailure` for a secret that is missing, and what `createVault` throws. */
export async function openVault(
  { config, pathOf }: LoadedConfig,
  { environment, serves = false, comparesSchema = false, note = () => {}, ...ports }: OpeningContext,
): Promise<AnyVault> {
  const source: SecretSource = { environment, pathOf }
  const { storage: storageConfig, keys: keysConfig, blobs, scanner, schema, policy, ...options } = config.vault
  if (!serves) assertStored(storageConfig, source)
  const keys = await openKeys(keysConfig, source)
  const storage = await openStorage(storageConfig, source)
  const optional = {
    ...(blobs === undefined ? {} : { blobs: await openBlobs(blobs, source) }),
    ...(scanner === undefined || !serves ? {} : { scanner: await openScanner(scanner) }),
    ...(policy === undefined ? {} : { policy }),
  }
  try {
    if (serves) return await createVault({ ...options, ...ports, ...optional, schema, storage, keys })
    return await openAsStored({ ...options, ...ports, ...optional, storage, keys }, { schema, note, comparesSchema })
  } catch (error) {
    await storage.close()
    throw error
  }
}

type StoredOptions = Omit<Parameters<typeof createVault<SchemaDefinition, string>>[0], 'schema'>

/** Opens the vault with the schema that is stored, and says if that is not the one of the configuration. */
async function openAsStored(
  options: StoredOptions,
  {
    schema,
    note,
    comparesSchema,
  }: { readonly schema: Schema; readonly note: (sentence: string) => void; readonly comparesSchema: boolean },
): Promise<AnyVault> {
  const open = (own: StoredOptions) => createVault<SchemaDefinition, string>({ ...own, schema: storedSchema })
  const differs =
    'The schema of the configuration is not the stored one, which is used. `strongroom schema plan` says how they differ.'
  try {
    const vault = await open(options)
    if (!comparesSchema && (await isOther(vault, schema))) note(differs)
    return vault
  } catch (error) {
    if (!isVaultError(error) || !error.message.startsWith('Invalid policy')) throw error
    // A policy can name what the stored schema does not have yet. Without it its roles grant nothing, and those of every vault are as they were.
    const { policy: _, ...withoutPolicy } = options
    const vault = await open(withoutPolicy)
    if (await isOther(vault, schema)) {
      if (!comparesSchema) note(differs)
      note(
        'The policy of the configuration does not fit it, so only VAULT_OWNER, VAULT_EDITOR and VAULT_VIEWER are granted anything.',
      )
      return vault
    }
    await vault.close()
    throw error
  }
}

/** True if the stored schema is another one, apart from what the given one leaves out. */
async function isOther(vault: AnyVault, schema: Schema): Promise<boolean> {
  const { steps, refusals } = await vault.planSchemaChange(schema, {}, { readsRecords: false })
  return steps.length + refusals.length > 0
}

/** Opening a file makes it, so a line in the wrong folder would leave an empty one there. */
function assertStored(storage: StorageConfig, { pathOf }: SecretSource): void {
  if (typeof storage === 'function' || !('sqlite' in storage)) return
  const file = pathOf(storage.sqlite.filename)
  if (existsSync(file)) return
  throw new CommandFailure(
    EXIT.unavailable,
    `${file} does not exist, so there is no vault yet. \`strongroom serve\` or \`strongroom schema apply\` makes it; or correct vault.storage.`,
  )
}

/** Opens the storage of a configuration, without a key. The caller closes it. */
export async function openStorage(storage: StorageConfig, source: SecretSource): Promise<StorageHandle> {
  if (typeof storage === 'function') return storage()
  if ('sqlite' in storage) {
    const { sqliteStorage } = await import('../../adapters/sqlite/index.ts')
    return sqliteStorage({ ...storage.sqlite, filename: source.pathOf(storage.sqlite.filename) })
  }
  const { postgresStorage } = await import('../../adapters/postgres/index.ts')
  return postgresStorage({ ...storage.postgres, connectionString: await readAddress(storage.postgres, source) })
}

/** Opens the key provider of a configuration. */
async function openKeys(keys: KeysConfig, source: SecretSource): Promise<KeyProvider> {
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
async function openBlobs(blobs: NonNullable<VaultConfig['blobs']>, source: SecretSource): Promise<BlobStore> {
  if (typeof blobs === 'function') return blobs()
  const { folderBlobs } = await import('../../adapters/blobs/index.ts')
  return folderBlobs({ directory: source.pathOf(blobs.directory) })
}

async function openScanner(scanner: NonNullable<VaultConfig['scanner']>): Promise<FileScanner> {
  if (typeof scanner === 'function') return scanner()
  const { clamdScanner } = await import('../../adapters/scanner/index.ts')
  return clamdScanner(scanner.clamd)
}
