/** The vault that tests of the console look at: customers with hostile names, and callers of six kinds. Clock and ids are the same in every run. */
import { createHash } from 'node:crypto'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { createApiKey } from '../../../src/http/index.ts'
import { column, createVault, defineSchema, mask, type Vault } from '../../../src/index.ts'
import { OWNER, TEST_SECRET } from '../vaults/test-vault.ts'

/** When the vault is opened, as its clock has it. */
export const NOW = Date.parse('2026-03-02T09:00:00Z')

const schema = defineSchema({
  customers: {
    name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
    email: column.string({
      unique: true,
      normalize: ['trim', 'lowercase'],
      redaction: 'MASKED',
      mask: mask.email,
      token: 'deterministic',
    }),
    phone: column.string({ redaction: 'MASKED', mask: mask.keepLast(4), token: 'random' }),
    ssn: column.string({ redaction: 'REDACTED' }),
    address: column.string({ redaction: 'REDACTED' }),
    country: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
    risk: column.integer({ redaction: 'PLAIN_TEXT' }),
    letter: column.file({ redaction: 'PLAIN_TEXT', allowedTypes: ['text/plain', 'application/pdf'] }),
  },
  orders: {
    customer: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
    total: column.integer({ redaction: 'PLAIN_TEXT' }),
    memo: column.string({ redaction: 'MASKED', mask: mask.keepFirst(2) }),
  },
  disputes: { reason: column.string({ redaction: 'PLAIN_TEXT' }) },
})

/** What each role is granted. `newcomer` is the name of a role that has no statements. */
const policy = {
  privacy_desk: [
    'ALLOW READ, SEARCH ON customers.name, customers.email, customers.phone, customers.address, customers.country, customers.risk WITH REDACTION = PLAIN_TEXT',
    'ALLOW DETOKENIZATION ON customers.name, customers.email, customers.phone',
    'ALLOW READ ON orders.* WITH REDACTION = PLAIN_TEXT',
    'ALLOW READ, CREATE ON disputes.* WITH REDACTION = PLAIN_TEXT',
    'ALLOW AUDIT ON *',
  ],
  support: [
    'ALLOW READ ON customers.name, customers.email, customers.phone, customers.country WITH REDACTION = MASKED',
    'ALLOW SEARCH ON customers.email',
    'DENY READ ON customers.risk',
  ],
  analyst: ['ALLOW READ ON customers.country, customers.risk WITH REDACTION = PLAIN_TEXT WHERE country = ctx.country'],
  auditor: ['ALLOW AUDIT ON *'],
} as const

/** Callers by the name of their key. */
export type ConsoleCaller = 'owner' | 'desk' | 'support' | 'analyst' | 'auditor' | 'newcomer'

/** A vault, and the API key of each caller. */
export interface ConsoleVault {
  readonly vault: Vault
  readonly keys: Readonly<Record<ConsoleCaller, string>>
  /** Ids of the customers, in the order of `CUSTOMERS`. */
  readonly customers: readonly string[]
}

/** What a page must draw as text wherever a name or a value is drawn. */
export const MARKUP = '<img src=x onerror=alert(1)>'

/** Whole values that `support` must not see. A test searches what the browser receives for them. */
export const CUSTOMERS = [
  customer('Leonie Köhler', 'leonie@surfeu.example', '+49 711 2842222', 'DE', 120),
  customer('Frank Harris', 'frank@gmail.example', '+1 650 253 0000', 'US', 471),
  // Names that a page must draw as text: right to left, markup, and one that looks masked.
  customer('ليلى حسن', 'layla@mail.example', '+77 923 3907', 'NG', 80),
  customer('<img src=x onerror=alert(2)>', 'xss@mail.example', '"><script>alert(3)</script>', 'BR', 999),
  customer('A*******', '*REDACTED*@mail.example', '*REDACTED*', 'SE', 950),
  { ...customer('Bjørn Hansen', 'bjorn@yahoo.example', '+47 22 44 22 22', 'NO', 310), phone: null },
] as const

function customer(name: string, email: string, phone: string, country: string, risk: number) {
  return { name, email, phone, ssn: `ssn of ${email}`, address: `Storgatan ${risk}, home of ${email}`, country, risk }
}

/** Records of one insert at most. */
const MAX_INSERTED = 1000

/** Opens the vault, by default in memory, with so many further customers. The caller closes it. */
export async function openConsoleVault({
  storage = memoryStorage(),
  extra = 0,
  id = 'acme',
}: {
  readonly storage?: StorageHandle
  readonly extra?: number
  readonly id?: string
} = {}): Promise<ConsoleVault> {
  const vault: Vault = await createVault({
    id,
    schema,
    policy,
    storage,
    keys: localKeys({ key: TEST_SECRET }),
    clock: tickingClock(),
    entropy: seededEntropy('console'),
  })
  const owner = vault.as(OWNER)
  const further = Array.from({ length: extra }, (_, at) =>
    customer(
      `Customer ${at}`,
      `customer${at}@mail.example`,
      `+46 8 ${1_000_000 + at}`,
      ['SE', 'DE', 'US'][at % 3] ?? 'SE',
      at % 1000,
    ),
  )
  const customers: string[] = []
  const all = [...CUSTOMERS, ...further].map((fields) => ({ fields }))
  for (let from = 0; from < all.length; from += MAX_INSERTED) {
    // One customer is called as a mask looks.
    const { records } = await owner.insert('customers', all.slice(from, from + MAX_INSERTED), { allowShownText: true })
    for (const { id: customerID } of records) customers.push(customerID)
  }
  await owner.insert(
    'orders',
    [customers[0], customers[1], MARKUP].map((of, at) => ({ fields: { customer: of, total: 88 + at, memo: `Gift for ${at}` } })),
  )
  const keyOf = async (name: string, roles: readonly string[], context?: Record<string, string>): Promise<string> =>
    (await createApiKey(owner, { name, roles, ...(context === undefined ? {} : { context }) })).apiKey
  return {
    vault,
    customers,
    keys: {
      owner: await keyOf('owner', ['VAULT_OWNER']),
      desk: await keyOf('privacy desk', ['privacy_desk']),
      support: await keyOf('support', ['support']),
      analyst: await keyOf('analyst', ['analyst'], { country: 'SE' }),
      auditor: await keyOf('auditor', ['auditor']),
      newcomer: await keyOf(MARKUP, ['newcomer']),
    },
  }
}

/** A clock that goes a millisecond on with each look. */
function tickingClock() {
  let now = BigInt(NOW) * 1_000_000n
  return {
    now() {
      now += 1_000_000n
      return now
    },
  }
}

/** Bytes that are the same in every run. */
function seededEntropy(seed: string) {
  let count = 0
  return {
    bytes(length: number) {
      const blocks: Buffer[] = []
      for (let have = 0; have < length; have += 32) blocks.push(createHash('sha256').update(`${seed} ${count++}`).digest())
      return new Uint8Array(Buffer.concat(blocks).subarray(0, length))
    },
  }
}
