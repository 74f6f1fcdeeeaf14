/** Looks for a person in every way that a vault has, and in the cells of its storage. */
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { AUDIT_CHAINS, AUDIT_EVENTS, CATALOG, MARKER, OPENINGS } from '../../../src/core/schema/system-tables.ts'
import { isVaultError, type Vault } from '../../../src/index.ts'
import { bytesOf } from '../files/open-file-vault.ts'
import { asLoose } from '../vaults/open-untyped.ts'
import { OWNER } from '../vaults/test-vault.ts'
import type { Shop, StoredCustomer } from './customers.ts'

/** Returns the names of the ways in which something of a person is found. */
export async function waysToFind(vault: Vault<Shop>, person: StoredCustomer): Promise<string[]> {
  const session = vault.as(OWNER)
  const loose = asLoose(session)
  const { id, email, name, orders, notes, tokens, transientTokens, ticket } = person
  const isOwn = (shown: unknown): boolean => JSON.stringify(shown).includes(name)
  const ways: Record<string, () => Promise<boolean>> = {
    getOne: async () => isOwn(await session.getOne('customers', id)),
    'get by ids': async () => isOwn(await session.get('orders', { ids: orders })),
    'get by a value': async () => isOwn(await session.get('customers', { where: { email } })),
    'get by the value of a relation': async () => isOwn(await session.get('orders', { where: { customer_id: id } })),
    'get by a plain value': async () => isOwn(await session.get('items', { where: { order_id: [...orders] } })),
    'get by an equal value': async () => isOwn(await session.get('notes', { where: { email } })),
    updateWhere: async () => (await session.updateWhere('notes', { email }, { text: 'other' })).records.length > 0,
    update: async () => isOwn(await session.updateOne('orders', orders[0] ?? '', { address: 'other' })),
    tokenize: async () =>
      (await session.tokenize([{ table: 'customers', column: 'ssn', value: `ssn of ${name}` }])).records.length > 0,
    openFile: async () => (await bytesOf((await session.openFile('notes', notes[0] ?? '', 'scan')).stream)).length > 0,
    fileStatus: async () => JSON.stringify(await session.fileStatus('notes', notes[0] ?? '', 'scan')).length > 0,
    'a ticket': async () => (await bytesOf((await vault.downloadWithTicket(ticket)).stream)).length > 0,
    find: async () => (await vault.subjects.find(OWNER, 'customer', id)) !== undefined,
    export: async () => {
      for await (const line of vault.subjects.export(OWNER, 'customer', id)) if (isOwn(line)) return true
      return false
    },
  }
  for (const table of ['customers', 'orders', 'items', 'shipments', 'notes'] as const) {
    ways[`pages of ${table}`] = async () => {
      for await (const page of session.pages(table)) if (isOwn(page.records)) return true
      return false
    }
    ways[`query of ${table}`] = async () => isOwn(await loose.query(`SELECT * FROM ${table}`))
  }
  for (const [index, token] of [...tokens, ...transientTokens].entries()) {
    ways[`detokenize ${index}`] = async () => (await session.detokenize([{ token }])).records.length > 0
    ways[`getByTokens ${index}`] = async () =>
      (await session.getByTokens([token], { columnOnly: true })).records.some((one) => !('error' in one))
  }
  const found: string[] = []
  for (const [way, look] of Object.entries(ways)) if (await isFound(look)) found.push(way)
  return found
}

/** What is not there is refused, each way in its own words. */
async function isFound(look: () => Promise<boolean>): Promise<boolean> {
  try {
    return await look()
  } catch (error) {
    if (isVaultError(error, 'not_found')) return false
    throw error
  }
}

/** What no person is in: events name rows and callers, and the catalog and openings change with each writer. */
const OTHERS = new Set([AUDIT_EVENTS, AUDIT_CHAINS, CATALOG, MARKER, OPENINGS].map(({ name }) => name))

/** Returns the table and the text of each cell of bytes, and of texts: bodies, digests, plain values. */
export async function storedCells(storage: StorageHandle): Promise<Set<string>> {
  return storage.snapshot(async ({ tables, find }) => {
    const cells = new Set<string>()
    for (const { name } of tables.filter((table) => !OTHERS.has(table.name))) {
      const rows = await find(name, { kind: 'all' }, { order: 'asc', limit: 10_000 })
      for (const [column, cell] of rows.flatMap((row) => Object.entries(row)))
        if (cell instanceof Uint8Array || typeof cell === 'string')
          cells.add(`${name}.${column} ${Buffer.from(cell).toString('hex')}`)
    }
    return cells
  })
}
