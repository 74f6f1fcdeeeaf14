/** The schema and the policy of a configuration in a vault in memory: what compiles there compiles in the stored one, and no storage or key is asked. */
import { randomBytes } from 'node:crypto'
import { localKeys } from '../../adapters/keys/index.ts'
import { memoryStorage } from '../../adapters/memory/index.ts'
import { createVault } from '../../index.ts'
import type { AnyVault } from '../config/any-vault.ts'
import type { Config, VaultConfig } from '../config/define-config.ts'

/** Opens it. The caller closes it. Throws what `createVault` throws for a wrong schema or policy. */
export function openInMemory({ vault }: Config, policy: VaultConfig['policy'] = vault.policy): Promise<AnyVault> {
  const { id, schema } = vault
  const keys = localKeys({ key: randomBytes(32).toString('base64') })
  return createVault({ id, schema, ...(policy === undefined ? {} : { policy }), storage: memoryStorage(), keys, audit: 'off' })
}
