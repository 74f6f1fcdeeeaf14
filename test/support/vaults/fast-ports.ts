/** A process whose time runs a hundred times as fast: a look at the catalog is due after 100 ms, and work that waits until others have looked waits for 150. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import type { OpenOptions } from '../../../src/core/vault/options.ts'
import type { Schema, SchemaDefinition, Vault } from '../../../src/index.ts'
import { SYSTEM_PORTS } from './system-ports.ts'
import { TEST_SECRET } from './test-vault.ts'

/** Ports of a process whose time runs so many times as fast. */
export function portsFaster(times: number) {
  return {
    ...SYSTEM_PORTS,
    stopwatch: { now: () => SYSTEM_PORTS.stopwatch.now() * times },
    timer: {
      after: (milliseconds: number, callback: () => void, keepsAlive?: boolean) =>
        SYSTEM_PORTS.timer.after(milliseconds / times, callback, keepsAlive),
    },
  }
}

export const FAST_PORTS = portsFaster(100)

const KEYS = localKeys({ key: TEST_SECRET })

/** Opens the vault `v1` as a process with these ports. */
export function openFast<S extends SchemaDefinition>(
  storage: StorageHandle,
  schema: Schema<S>,
  options: Partial<OpenOptions<S>> = {},
): Promise<Vault<S>> {
  return openVault({ ...FAST_PORTS, id: 'v1', schema, storage, keys: KEYS, ...options })
}
