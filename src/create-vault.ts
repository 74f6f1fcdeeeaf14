/** Where the default engines are plugged into core: the one file that knows both. */
import { keyRingFactory } from './adapters/keys/key-ring-factory.ts'
import { systemClock } from './adapters/system/system-clock.ts'
import { systemEntropy } from './adapters/system/system-entropy.ts'
import { systemHash } from './adapters/system/system-hash.ts'
import { systemScheduler } from './adapters/system/system-scheduler.ts'
import type { SchemaDefinition } from './core/schema/column.ts'
import type { VaultOptions } from './core/vault/options.ts'
import type { Vault } from './core/vault/vault.ts'
import { openVault } from './core/vault/vault.ts'

/**
 * Opens a vault, founding it when the storage is empty. Throws `VaultError`: `invalid_request` when an option is wrong;
 * `failed_precondition` when the storage belongs to another vault, the key is another one, or the schema would lose or weaken
 * something stored. Then nothing was written.
 */
export function createVault<const S extends SchemaDefinition>(options: VaultOptions<S>): Promise<Vault<S>> {
  const { clock = systemClock, entropy = systemEntropy } = options ?? {}
  return openVault({ ...options, clock, entropy, keyRingFactory, hash: systemHash, scheduler: systemScheduler })
}
