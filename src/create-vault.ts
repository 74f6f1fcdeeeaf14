/** Connects the default adapters to core. Only this file imports both. */
import { contentTypeDetector } from './adapters/content-type/detect-content-type.ts'
import { keyRingFactory, platformKeyRingFactory } from './adapters/keys/key-ring-factory.ts'
import {
  assertByteClass,
  systemClock,
  systemEntropy,
  systemHash,
  systemProcess,
  systemScheduler,
  systemStopwatch,
  systemTimer,
} from './adapters/system/system.ts'
import type { SchemaDefinition } from './core/schema/column.ts'
import { openVault } from './core/vault/open-vault.ts'
import { readVaultOptions, type VaultOptions } from './core/vault/options.ts'
import type { Vault } from './core/vault/vault.ts'

/**
 * Opens a vault, and creates it in an empty storage. Throws `invalid_request` for an invalid option, and `failed_precondition` if the
 * storage belongs to another vault, the key differs, the schema would lose or weaken stored data, or the runtime lacks what is needed. Throws
 * `data_loss` for a damaged catalog. No record is changed then, and the storage stays open: call again with it, or close it.
 */
export async function createVault<const S extends SchemaDefinition, const Role extends string = never>(
  options: VaultOptions<S, Role>,
): Promise<Vault<S, Role>> {
  assertByteClass()
  const given = readVaultOptions(options)
  const { clock = systemClock, entropy = systemEntropy } = given
  return openVault({
    ...given,
    clock,
    entropy,
    keyRingFactory: given.cryptography === 'node' ? platformKeyRingFactory : keyRingFactory,
    hash: systemHash,
    scheduler: systemScheduler,
    stopwatch: systemStopwatch,
    timer: systemTimer,
    contentTypes: contentTypeDetector,
    process: systemProcess,
  })
}
