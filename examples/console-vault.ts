/** The vault that the console is shown with: the customers and employees of the quickstart, orders, and three callers who see different tables of them. */
import { column, createVault, defineSchema, mask, type Vault, type VaultOptions } from 'strongroom'
import { createApiKey } from 'strongroom/http'
import { readChinook } from './chinook.ts'

const schema = defineSchema({
  customers: {
    name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
    email: column.string({
      unique: true,
      normalize: ['trim', 'lowercase'],
      mask: mask.email,
      redaction: 'MASKED',
      token: 'deterministic',
    }),
    phone: column.string({ mask: mask.keepLast(4), redaction: 'MASKED', token: 'random' }),
    ssn: column.string({ redaction: 'REDACTED' }),
    address: column.string({ redaction: 'REDACTED' }),
    country: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
    risk: column.integer({ redaction: 'PLAIN_TEXT' }),
  },
  employees: {
    name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1) }),
    email: column.string({ unique: true, redaction: 'MASKED', mask: mask.email }),
    born: column.date({ searchable: true }),
  },
  orders: {
    customer: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
    total: column.integer({ redaction: 'PLAIN_TEXT' }),
  },
})

const SHOWN = ['name', 'email', 'phone', 'address', 'country', 'risk'].map((name) => `customers.${name}`).join(', ')

const policy = {
  privacy_desk: [
    `ALLOW READ, SEARCH ON ${SHOWN} WITH REDACTION = PLAIN_TEXT`,
    'ALLOW DETOKENIZATION ON customers.name, customers.email, customers.phone',
    'ALLOW READ ON employees.*, orders.* WITH REDACTION = PLAIN_TEXT',
    'ALLOW AUDIT ON *',
  ],
  support: [
    'ALLOW READ ON customers.name, customers.email, customers.phone, customers.country WITH REDACTION = MASKED',
    'ALLOW SEARCH ON customers.email',
  ],
}

/** The roles of the callers, and the names of their keys. */
const CALLERS = { owner: 'VAULT_OWNER', 'privacy desk': 'privacy_desk', support: 'support' } as const

/** A vault, and the API keys of its callers by their names. */
export interface ShownVault {
  readonly vault: Vault
  readonly keys: ReadonlyMap<string, string>
}

/** Opens the vault in an empty storage, and fills it. The caller closes it. */
export async function openShownVault(
  storage: VaultOptions<(typeof schema)['tables']>['storage'],
  rootKeys: VaultOptions<(typeof schema)['tables']>['keys'],
): Promise<ShownVault> {
  const vault: Vault = await createVault({ id: 'quickstart', schema, policy, storage, keys: rootKeys })
  const owner = vault.as({ actor: 'ann@acme.example', actorType: 'USER', roles: ['VAULT_OWNER'] })
  const { customers, employees } = readChinook()
  const { records } = await owner.insert(
    'customers',
    customers.map((fields, at) => ({ fields: { ...fields, ssn: `${510_000 + at * 7919}`, risk: (at * 193) % 1000 } })),
  )
  await owner.insert(
    'employees',
    employees.map((fields) => ({ fields })),
  )
  await owner.insert(
    'orders',
    records.map(({ id }, at) => ({ fields: { customer: id, total: 20 + ((at * 37) % 180) } })),
  )
  const named = await Promise.all(
    Object.entries(CALLERS).map(async ([name, role]) => {
      const { apiKey } = await createApiKey(owner, { name, roles: [role] })
      return [name, apiKey] as const
    }),
  )
  return { vault, keys: new Map(named) }
}
