/**
 * What is inferred from a schema, as an application compiles it: values by level, the items of batches, names of roles, helpers for any
 * schema. Compiled like consumer.ts, and never run.
 */
import {
  type Caller,
  column,
  createVault,
  defineSchema,
  mask,
  type PolicyFor,
  type SchemaDefinition,
  type Session,
  type SessionBatchItem,
  type ShownText,
  type TableName,
  type Vault,
  type VaultError,
} from 'strongroom'
import { localKeys } from 'strongroom/keys'
import { memoryStorage } from 'strongroom/memory'

/** Compiles only where both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function holds<_Claim extends true>(): void {}

export const schema = defineSchema({
  customers: {
    name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
    email: column.string({ unique: true }),
    country: column.string({ encrypted: false, index: true, oneOf: ['DE', 'FR'] }),
    visits: column.integer(),
    born: column.date(),
    notes: column.json({}),
  },
  orders: {
    total: column.float({ required: true }),
    net: column.decimal({ scale: 2 }),
    rate: column.decimal({ scale: 2, oneOf: ['7.00', '19.00'] }),
  },
  cards: { code: column.string({ token: { kind: 'transient', ttlMinutes: 5 } }), level: column.integer({ oneOf: [1, 2] }) },
})

/** A storage that is exported has a declaration. */
export const storage = memoryStorage()

async function openSession() {
  const vault = await createVault({ id: 'v1', schema, storage: memoryStorage(), keys: localKeys({ file: 'vault.key' }) })
  return vault.as({ actor: 'ann@acme.example', actorType: 'USER', roles: ['VAULT_OWNER'] })
}

/** Reads in plain text return values, of the columns that were asked for; others return what may be a mask, which no write accepts. */
export async function levels(id: string): Promise<void> {
  const session = await openSession()
  const plain = await session.getOne('customers', id, {
    redaction: 'PLAIN_TEXT',
    onLowered: 'throw',
    fields: ['name', 'country', 'visits'],
  })
  holds<
    Same<
      typeof plain.fields,
      { readonly name: string; readonly country: 'DE' | 'FR' | null; readonly visits: number | string | null }
    >
  >()
  await session.updateOne('customers', id, plain.fields)
  const asked: readonly ('name' | 'visits')[] = ['name']
  const some = await session.getOne('customers', id, { redaction: 'PLAIN_TEXT', onLowered: 'throw', fields: asked })
  holds<Same<typeof some.fields.name, string | undefined>>()
  const shown = await session.getOne('customers', id, { redaction: 'PLAIN_TEXT' })
  const { name, country } = shown.fields
  holds<Same<typeof country, 'DE' | 'FR' | ShownText | null | undefined>>()
  const printed: string = `${name ?? ''} ${JSON.stringify(country)} ${name === 'Ann' ? name.length : name?.toUpperCase()}`
  const labels = new Map<string, string>([[name ?? 'unknown', printed]])
  labels.get(name ?? '')
  if (name === undefined) return
  // @ts-expect-error a mask is no name
  await session.updateOne('customers', id, { name })
  // @ts-expect-error a mask is no name
  await session.insert('customers', [{ fields: { name } }])
  // @ts-expect-error a mask finds no record
  await session.get('customers', { where: { email: [name] } })
  await session.updateOne('customers', id, { name: String(name) })
  const order = await session.getOne('orders', id, { redaction: 'PLAIN_TEXT', onLowered: 'throw', fields: ['net', 'rate'] })
  holds<Same<typeof order.fields, { readonly net: string | null; readonly rate: '7.00' | '19.00' | null }>>()
  await session.updateOne('orders', id, order.fields)
  await session.updateOne('orders', id, { net: Math.random() < 0.5 ? 12.5 : 12n })
  // @ts-expect-error allowed values are written as reads return them
  await session.updateOne('orders', id, { rate: '7.0' })
  // @ts-expect-error a DECIMAL has a scale
  column.decimal({ required: true })
  const card = await session.getOne('cards', id)
  // @ts-expect-error a transient value is not read with its record
  card.fields.code
}

/** A helper for any schema, and a list of items that is filled as the program runs. */
export function list<S extends SchemaDefinition, T extends TableName<S>>(session: Session<S>, table: T) {
  return session.get(table)
}
export async function useHelpers(ids: readonly string[]): Promise<string[]> {
  const session = await openSession()
  const { records } = await list(session, 'customers')
  holds<Same<(typeof records)[number]['fields']['visits'], number | ShownText | null | undefined>>()
  const items: SessionBatchItem<typeof schema.tables>[] = ids.map((id) => ({ delete: 'orders', id }))
  items.push({ insert: 'orders', fields: { total: 1 } })
  const { responses } = await session.batch(items)
  return [...records.map(({ id }) => id), ...responses.map(({ ok }) => String(ok))]
}

/** Reads by value compare what can be compared with values of its type. */
export async function readByValue(): Promise<void> {
  const session = await openSession()
  await session.get('customers', { where: { born: { from: '1990-01-01', below: '2000-01-01' }, visits: null }, orderBy: 'born' })
  await session.get('customers', {
    where: { name: { prefix: 'A' }, visits: [1, 2n] },
    orderBy: { column: 'visits', order: 'DESCENDING' },
  })
  await session.get('customers', { where: { notes: null, country: { above: 'DE' } }, orderBy: 'DESCENDING' })
  // @ts-expect-error no such column
  await session.get('customers', { where: { phone: 'x' } })
  // @ts-expect-error no such column
  await session.get('customers', { orderBy: 'phone' })
  // @ts-expect-error no such bound
  await session.get('customers', { where: { born: { gte: '1990-01-01' } } })
  // @ts-expect-error a bound of another type
  await session.get('orders', { where: { total: { from: '1' } } })
  // @ts-expect-error only texts begin with a text
  await session.get('customers', { where: { visits: { prefix: '1' } } })
  // @ts-expect-error a column that always has a value
  await session.get('customers', { where: { name: null } })
  // @ts-expect-error these values are not compared
  await session.get('customers', { where: { notes: 'x' } })
  // @ts-expect-error these values have no order
  await session.get('customers', { orderBy: 'notes' })
  // @ts-expect-error values of this column live apart
  await session.get('cards', { orderBy: { column: 'code' } })
  // @ts-expect-error a change has the value of one column
  await session.deleteWhere('customers', { email: { from: 'a' } })
}

/** Names of roles are checked against the policy, where they are written in the program. */
export async function roles(claims: readonly string[], caller: Caller): Promise<Vault<typeof schema.tables>> {
  const common = { id: 'v1', schema, storage: memoryStorage(), keys: localKeys({ file: 'vault.key' }) }
  const vault = await createVault({
    ...common,
    policy: { clerk: ['ALLOW READ ON customers.*'], auditor: [{ effect: 'ALLOW', actions: ['AUDIT'], on: ['*'] }] },
  })
  const ann = { actor: 'ann@acme.example', actorType: 'USER' } as const
  vault.as({ ...ann, roles: ['clerk', 'auditor', 'VAULT_VIEWER'] })
  vault.as({ ...ann, roles: claims })
  vault.as(caller)
  // @ts-expect-error no such role
  vault.as({ ...ann, roles: ['clerc'] })
  // @ts-expect-error no such role
  vault.explain({ ...ann, roles: ['clerc'] }, 'READ', 'customers')
  // @ts-expect-error no such role
  await vault.transaction(async (inner) => inner.as({ ...ann, roles: ['clerc'] }))
  const bare = await createVault(common)
  // @ts-expect-error without a policy there are only the roles of every vault
  bare.as({ ...ann, roles: ['clerk'] })
  const loose: PolicyFor<typeof schema.tables> = { clerk: ['ALLOW READ ON customers.*'] }
  const loaded = await createVault({ ...common, policy: loose })
  loaded.as({ ...ann, roles: ['any name'] })
  return vault
}

/** The items of a batch are checked by table and method, and each response has the type of its item. */
export async function batch(id: string): Promise<string> {
  const session = await openSession()
  const { responses } = await session.batch([
    { insert: 'customers', fields: { name: 'Ann', visits: 1 }, upsert: 'email', tokenization: true },
    { get: 'customers', id },
    { update: 'orders', id, fields: { total: 2 } },
    { delete: 'cards', id },
  ])
  const [inserted, read, updated, removed] = responses
  holds<Same<keyof (typeof inserted.value)['tokens'], 'name'>>()
  holds<Same<typeof read.value.fields.visits, number | ShownText | null | undefined>>()
  holds<Same<typeof updated.value.updatedAt, string>>()
  holds<Same<typeof removed.value.deleted, true>>()
  const going = await session.batch([{ delete: 'cards', id }], { continueOnError: true })
  // @ts-expect-error with continueOnError an item can fail
  going.responses[0].value
  const [first] = going.responses
  if (!first.ok) holds<Same<typeof first.error, VaultError>>()
  // @ts-expect-error no such column
  await session.batch([{ insert: 'customers', fields: { name: 'Ann', phone: '1' } }])
  // @ts-expect-error a required column
  await session.batch([{ insert: 'customers', fields: { visits: 1 } }])
  // @ts-expect-error no such table
  await session.batch([{ get: 'clients', id }])
  // @ts-expect-error no such method
  await session.batch([{ patch: 'customers', id }])
  // @ts-expect-error a column of another table
  await session.batch([{ update: 'orders', id, fields: { visits: 1 } }])
  // @ts-expect-error a member of another method
  await session.batch([{ delete: 'orders', id, fields: {} }])
  // @ts-expect-error a misspelt member
  await session.batch([{ get: 'orders', id, tokenize: true }])
  // @ts-expect-error upsert needs a unique column
  await session.batch([{ insert: 'customers', fields: { name: 'Ann' }, upsert: 'country' }])
  return first.ok ? first.value.id : first.error.code
}
