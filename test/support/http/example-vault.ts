/** The vault of the examples in the API description, served over a real socket. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { LEGACY_TABLES } from '../../../src/http/index.ts'
import { EXAMPLE } from '../../../src/http/routes/examples.ts'
import { column, createVault, defineSchema, mask, type Vault } from '../../../src/index.ts'
import { OWNER, TEST_SECRET } from '../vaults/test-vault.ts'

/** The texts of the examples, and what stands for each in one vault. */
export type RealTexts = ReadonlyMap<string, string>

/** Opens a vault whose table of examples, or one of its legacy tables, has the records of the examples. */
export async function openExampleVault(table: string): Promise<{ vault: Vault; real: RealTexts }> {
  const columns = {
    name: column.string({ token: 'random', mask: mask.keepFirst(1), redaction: 'MASKED' }),
    email: column.string({ unique: true, token: 'deterministic', redaction: 'PLAIN_TEXT' }),
    country: column.string({ encrypted: false, redaction: 'PLAIN_TEXT' }),
    photo: column.file({ allowedTypes: ['image/*'], redaction: 'PLAIN_TEXT' }),
  }
  const schema = defineSchema(Object.fromEntries([EXAMPLE.table, ...LEGACY_TABLES].map((name) => [name, columns])))
  const keys = localKeys({ key: TEST_SECRET })
  const vault: Vault = await createVault({
    id: EXAMPLE.vaultID,
    accountId: EXAMPLE.vaultID,
    schema,
    storage: memoryStorage(),
    keys,
  })
  const session = vault.as(OWNER)
  const other = { name: 'Cy Ek', email: 'cy@acme.example', country: 'DE' }
  const {
    records: [ann, cy],
  } = await session.insert(table, [{ fields: EXAMPLE.fields }, { fields: other }], { tokenization: true })
  const real = new Map([
    [EXAMPLE.id, ann?.id ?? ''],
    [EXAMPLE.otherID, cy?.id ?? ''],
    [EXAMPLE.nameToken, ann?.tokens.name ?? ''],
    [EXAMPLE.emailToken, ann?.tokens.email ?? ''],
  ])
  return { vault, real }
}
