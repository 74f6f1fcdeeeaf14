/**
 * What an application's compiler says of the public shape: right uses compile, wrong ones do not. Compiled against the sources by
 * `npm run types`, and against the built package, as ESM and as CommonJS, by scripts/check-package.ts. Never run.
 */
import { column, createVault, defineSchema, isVaultError, mask, type VaultError } from 'strongroom'
import type { storageCases } from 'strongroom/adapter-contract'
import { localKeys } from 'strongroom/keys'
import { memoryStorage } from 'strongroom/memory'
import { postgresStorage } from 'strongroom/postgres'
import { sqliteStorage } from 'strongroom/sqlite'

/** Compiles only where both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function holds<_Claim extends true>(): void {}

export const schema = defineSchema({
  customers: {
    name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
    email: column.string({ unique: true, normalise: ['trim', 'lowercase'], maxLength: 200 }),
    country: column.string({ encrypted: false, index: true, oneOf: ['DE', 'FR'] }),
    visits: column.integer(),
    active: column.boolean({}),
    born: column.date({ searchable: true }),
    notes: column.json({}),
  },
  orders: { total: column.float({ required: true }) },
})

// @ts-expect-error a misspelt option
column.string({ uniqe: true })
// @ts-expect-error a mask is made by mask
column.string({ mask: 'first' })
// @ts-expect-error no such level
column.string({ redaction: 'HIDDEN' })

/** Every storage and every kind of key is taken. */
export async function openVaults(): Promise<void> {
  const keys = localKeys({ file: 'vault.key' })
  await createVault({ id: 'v1', schema, storage: memoryStorage(), keys })
  await createVault({ id: 'v1', schema, storage: sqliteStorage({ filename: 'vault.db', synchronous: 'full' }), keys })
  await createVault({
    id: 'v1',
    schema,
    storage: postgresStorage({ connectionString: 'postgres://localhost' }),
    keys: localKeys({ secret: 'c2VjcmV0' }),
  })
  // @ts-expect-error a vault needs a storage
  await createVault({ id: 'v1', schema, keys })
  // @ts-expect-error sqlite needs a file name
  sqliteStorage({})
  holds<Same<(typeof storageCases)[number]['id'], string>>()
}

/** Left to inference: an application that emits declarations must be able to name what it hands on. */
export async function openSession() {
  const vault = await createVault({ id: 'v1', schema, storage: memoryStorage(), keys: localKeys({ file: 'vault.key' }) })
  return vault.as({ actor: 'ann@acme.example', actorType: 'USER', roles: ['VAULT_OWNER'] })
}

/** Fields go in as the schema says, and tokens come out where they were asked for. */
export async function insert(): Promise<void> {
  const session = await openSession()
  const plain = await session.insert('customers', [{ fields: { name: 'Ann', country: 'DE', visits: 3, active: null } }])
  holds<Same<(typeof plain.records)[number]['id'], string>>()
  // @ts-expect-error tokens without asking for them
  plain.records[0]?.tokens
  const tokenized = await session.insert('customers', [{ fields: { name: 'Ann' } }], { tokenization: true })
  holds<Same<(typeof tokenized.records)[number]['tokens'], { readonly name?: string }>>()
  await session.insert('customers', [{ fields: { name: 'Ann', email: 'a@b.example' } }], { upsert: 'email' })
  // @ts-expect-error no such table
  await session.insert('clients', [{ fields: { name: 'Ann' } }])
  // @ts-expect-error no such column
  await session.insert('customers', [{ fields: { name: 'Ann', phone: '1' } }])
  // @ts-expect-error text in a number's place
  await session.insert('customers', [{ fields: { name: 'Ann', active: 'yes' } }])
  // @ts-expect-error not one of the values allowed
  await session.insert('customers', [{ fields: { name: 'Ann', country: 'XX' } }])
  // @ts-expect-error a required column left out
  await session.insert('customers', [{ fields: { visits: 1 } }])
  // @ts-expect-error upsert goes by a unique column only
  await session.insert('customers', [{ fields: { name: 'Ann' } }], { upsert: 'country' })
}

/** Reads answer typed fields, or text where a level hides the value. */
export async function read(id: string): Promise<string> {
  const session = await openSession()
  const { records } = await session.get('customers', { ids: [id], redaction: 'PLAIN_TEXT', fields: ['name', 'visits'] })
  holds<Same<(typeof records)[number]['fields']['visits'], number | string | null>>()
  // @ts-expect-error a column that was not asked for
  records[0]?.fields.email
  await session.get('customers', { columnName: 'email', columnValues: ['a@b.example'] })
  // @ts-expect-error this column cannot be looked up
  await session.get('customers', { columnName: 'notes', columnValues: ['x'] })
  // @ts-expect-error no such level
  await session.get('customers', { ids: [id], redaction: 'HIDDEN' })
  const one = await session.getOne('customers', id, { redaction: 'DEFAULT' })
  return one.id
}

/** Changes, deletions and tokens. */
export async function change(id: string, token: string): Promise<string[]> {
  const session = await openSession()
  await session.update('customers', id, { fields: { visits: 4, born: null } })
  // @ts-expect-error a required column cannot become null
  await session.update('customers', id, { fields: { name: null } })
  const { records } = await session.detokenize([{ token, redaction: 'PLAIN_TEXT' }], { continueOnError: true })
  holds<Same<(typeof records)[number]['token'], string>>()
  await session.delete('orders', '*')
  const { ids } = await session.delete('customers', [id])
  return [...ids]
}

/** Inferred answers, handed on. */
export async function handOn(id: string) {
  const session = await openSession()
  return {
    inserted: await session.insert('customers', [{ fields: { name: 'Ann' } }], { tokenization: true }),
    read: await session.get('customers', { ids: [id], fields: ['name'] }),
    updated: await session.update('customers', id, { fields: { visits: 4 } }),
    values: await session.detokenize([{ token: id }]),
  }
}

/** Errors carry a closed list of codes. */
export function explain(error: unknown): string {
  if (!isVaultError(error)) return 'unknown'
  holds<Same<typeof error, VaultError>>()
  // @ts-expect-error no such code
  if (error.code === 'teapot') return ''
  return error.code === 'not_found' ? error.message : String(error.grpcCode)
}
