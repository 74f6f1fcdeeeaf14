/** The operations that are walked: one warm call of each, in one vault on an empty storage. */
import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { column, createVault, defineSchema, mask } from 'strongroom'
import { apiKeys, createApiKey, createHandler } from 'strongroom/http'
import { localKeys } from 'strongroom/keys'
import type { StorageHandle } from 'strongroom/storage-port'
import { type CountedFunction, functionsEntered } from './count-calls.ts'

/** What one call of an operation passes. */
export interface Walk {
  /** Files of `src` that it enters. */
  readonly files: number
  readonly functions: number
  readonly calls: number
  /** How often the next call is in another file. */
  readonly moves: number
  /** How often that file was left before. */
  readonly returns: number
  /** The functions in the order of their calls. */
  readonly path: readonly CountedFunction[]
}

/** The walks by the names of their operations. */
export type Walks = Readonly<Record<string, Walk>>

const schema = defineSchema({
  customers: {
    name: column.string({ redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
    email: column.string({ unique: true }),
    age: column.integer(),
    photo: column.file(),
  },
})

/** Walks each operation. The storage is closed at the end. */
export async function walksOn(storage: StorageHandle): Promise<Walks> {
  const vault = await createVault({ id: 'v1', schema, storage, keys: localKeys({ key: randomBytes(32).toString('base64') }) })
  const session = vault.as({ actor: 'walker', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] })
  const { apiKey } = await createApiKey(session, { name: 'walker', roles: ['VAULT_OWNER'] })
  const handler = createHandler({ vaults: vault, authenticate: apiKeys() })
  let count = 0
  const fields = () => ({ name: `Ann ${++count}`, email: `ann${count}@acme.example`, age: count })
  const [first] = (await session.insert('customers', [{ fields: fields() }, { fields: fields() }], { tokenization: true }))
    .records
  if (first === undefined) throw new Error('The first record was not inserted.')
  const { id, tokens } = first
  const ask = async (path: string, init: RequestInit = {}): Promise<void> => {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      ...(typeof init.body === 'string' ? { 'content-type': 'application/json' } : {}),
    }
    const response = await handler(new Request(`http://localhost${path}`, { ...init, headers }))
    if (response.status !== 200) throw new Error(`${path} was answered with ${response.status}: ${await response.text()}`)
    await response.arrayBuffer()
  }
  const operations: Readonly<Record<string, () => Promise<unknown>>> = {
    insert: () => session.insert('customers', [{ fields: fields() }], { tokenization: true }),
    upsert: () =>
      session.insert('customers', [{ fields: { name: 'Ann', email: 'ann2@acme.example', age: ++count } }], { upsert: 'email' }),
    update: () => session.updateOne('customers', id, { age: ++count }),
    getOne: () => session.getOne('customers', id, { redaction: 'PLAIN_TEXT' }),
    detokenize: () => session.detokenize([{ token: tokens.name ?? '', redaction: 'PLAIN_TEXT' }]),
    query: () => session.query("SELECT name, age FROM customers WHERE email = 'ann1@acme.example'"),
    batch: () =>
      session.batch([
        { insert: 'customers', fields: fields() },
        { get: 'customers', id },
      ]),
    uploadFile: () => session.uploadFile({ table: 'customers', column: 'photo', file: new TextEncoder().encode('hello') }),
    'HTTP get': () => ask(`/v1/vaults/v1/customers/${id}`),
    'HTTP insert': () =>
      ask('/v1/vaults/v1/customers', { method: 'POST', body: JSON.stringify({ records: [{ fields: fields() }] }) }),
    'HTTP upload': () => ask('/v2/vaults/v1/files/upload', { method: 'POST', body: fileForm() }),
  }
  const walks: Record<string, Walk> = {}
  for (const [name, operation] of Object.entries(operations)) walks[name] = await walkOf(operation)
  await handler.close()
  await vault.close()
  return walks
}

function fileForm(): FormData {
  const form = new FormData()
  form.append('tableName', 'customers')
  form.append('columnName', 'photo')
  form.append('file', new Blob(['hello'], { type: 'text/plain' }), 'hello.txt')
  return form
}

/** Time in which what a call left behind comes to an end, in milliseconds. */
const REST_MS = 60

async function walkOf(operation: () => Promise<unknown>): Promise<Walk> {
  for (let warm = 0; warm < 2; warm++) await operation()
  await setTimeout(REST_MS)
  const path = await functionsEntered(operation)
  const left = new Set<string>()
  let moves = 0
  let returns = 0
  let before: string | undefined
  for (const { file } of path) {
    if (file === before) continue
    moves++
    if (left.has(file)) returns++
    if (before !== undefined) left.add(before)
    before = file
  }
  return {
    files: new Set(path.map(({ file }) => file)).size,
    functions: new Set(path).size,
    calls: path.length,
    moves,
    returns,
    path,
  }
}

/** Returns the files that every one of these walks enters, without those over HTTP. */
export function filesOfAll(walks: Walks): string[] {
  const sets = Object.entries(walks)
    .filter(([name]) => !name.startsWith('HTTP'))
    .map(([, { path }]) => new Set(path.map(({ file }) => file)))
  const [first = new Set<string>(), ...others] = sets
  return [...first].filter((file) => others.every((set) => set.has(file)))
}
