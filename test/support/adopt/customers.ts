/** The vault of customers, as every process of the application opens it. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { column, createVault, defineSchema, type Schema, type SchemaDefinition, type Vault } from '../../../src/index.ts'
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import { TEST_SECRET } from '../vaults/test-vault.ts'

/** The vault of customers. */
export const CUSTOMERS = defineSchema({
  customers: {
    name: column.string({ token: 'random' }),
    email: column.string({ unique: true, normalize: ['trim', 'lowercase'], token: 'random', maxLength: 100 }),
    phone: column.string({ token: 'random' }),
  },
})

/** Opens the vault of an address, as every process of the application does. */
export function openHostVault(
  address: StorageAddress,
  schema: Schema<SchemaDefinition> = CUSTOMERS,
): Promise<Vault<SchemaDefinition>> {
  return createVault<SchemaDefinition>({
    id: 'adopted',
    schema,
    storage: openStorage(address),
    keys: localKeys({ key: TEST_SECRET }),
  })
}
