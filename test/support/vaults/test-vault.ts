/** A small vault with one column of every kind, for tests that need any vault. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { type Caller, column, createVault, defineSchema, mask, type Vault } from '../../../src/index.ts'

/** The root key of every test vault. */
export const TEST_SECRET = Buffer.alloc(32, 'test secret').toString('base64')

/** May do everything. */
export const OWNER: Caller = { actor: 'owner@acme.example', actorType: 'USER', roles: ['VAULT_OWNER'] }
/** Has no grants. */
export const CLERK: Caller = { actor: 'clerk@acme.example', actorType: 'USER', roles: ['clerk'] }

/** One column of every type and option that records can have. */
export const people = defineSchema({
  people: {
    name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random', maxLength: 40 }),
    email: column.string({ unique: true, normalize: ['trim', 'lowercase'], token: 'random', redaction: 'PLAIN_TEXT' }),
    ssn: column.string({ pattern: '[0-9]{3}-[0-9]{2}-[0-9]{4}', mask: mask.keepLast(4), token: 'random', redaction: 'MASKED' }),
    country: column.string({ encrypted: false, index: true, oneOf: ['SE', 'DE', 'US'], redaction: 'PLAIN_TEXT' }),
    badge: column.string({ encrypted: false, unique: true, token: 'random', redaction: 'PLAIN_TEXT' }),
    born: column.date({ searchable: true, redaction: 'PLAIN_TEXT' }),
    salary: column.integer({}),
    score: column.float(),
    active: column.boolean({ redaction: 'PLAIN_TEXT' }),
    wakes: column.time(),
    seen: column.datetime({ redaction: 'PLAIN_TEXT' }),
    notes: column.json({ redaction: 'PLAIN_TEXT' }),
    tags: column.array({ redaction: 'PLAIN_TEXT' }),
  },
  orders: { total: column.float({ encrypted: false }), memo: column.string({}) },
})

/** The schema's definition, for types. */
export type People = (typeof people)['tables']

/** Opens the vault of `people` on a storage. */
export function openPeople(storage: StorageHandle, id = 'v1'): Promise<Vault<People>> {
  return createVault({ id, schema: people, storage, keys: localKeys({ key: TEST_SECRET }) })
}
