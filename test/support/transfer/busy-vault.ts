/** A vault with something in every table, to be copied: records with tokens of all kinds, files, credentials, transient values, deleted records, events. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { Row, StorageHandle } from '../../../src/core/ports/storage.ts'
import { createApiKey } from '../../../src/http/index.ts'
import { column, createVault, defineSchema, type Vault } from '../../../src/index.ts'
import { OWNER, TEST_SECRET } from '../vaults/test-vault.ts'

export const BUSY = defineSchema({
  people: {
    name: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }),
    email: column.string({ unique: true, token: 'deterministic', redaction: 'PLAIN_TEXT' }),
    phone: column.string({ token: { kind: 'formatPreserving', format: 'phone' }, redaction: 'PLAIN_TEXT' }),
    pin: column.string({ token: { kind: 'transient', ttlMinutes: 600 } }),
    city: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
    score: column.float({ encrypted: false, redaction: 'PLAIN_TEXT' }),
    scan: column.file({ redaction: 'PLAIN_TEXT' }),
  },
  notes: { text: column.string({ redaction: 'PLAIN_TEXT' }) },
})

export type BusyVault = Vault<(typeof BUSY)['tables']>

export function openBusy(storage: StorageHandle): Promise<BusyVault> {
  return createVault({ id: 'busy', schema: BUSY, storage, keys: localKeys({ key: TEST_SECRET }) })
}

/** What a copy must know, too. */
export interface Known {
  readonly id: string
  readonly name: string
  readonly token: string
}

export const fieldsOf = (n: number) => ({
  name: `Näme ${n} \u0000 😀`,
  email: `p${n}@x.example`,
  phone: `+46 70 ${1_000_000 + n}`,
  city: ['Å', 'z', 'Z', 'é'][n % 4] ?? '',
  score: n / 3,
  ...(n % 10 === 0 ? { pin: '123' } : {}),
})

/** Fills a vault. Returns some of its records, and the id and token of one that was deleted last. */
export async function fillBusy(vault: BusyVault, count: number): Promise<{ known: readonly Known[]; gone: Known }> {
  const session = vault.as(OWNER)
  const known: Known[] = []
  for (let start = 0; start < count; start += 500) {
    const numbers = Array.from({ length: Math.min(500, count - start) }, (_, index) => start + index)
    const records = numbers.map((n) => ({ fields: fieldsOf(n) }))
    const inserted = await session.insert('people', records, { tokenization: true })
    for (const [index, { id, tokens }] of inserted.records.entries())
      known.push({ id, name: fieldsOf(start + index).name, token: String(tokens?.name) })
  }
  for (const [index, { id }] of known.slice(0, 3).entries())
    await session.uploadFile({
      table: 'people',
      column: 'scan',
      id,
      file: new Uint8Array(100_000 * index + 5).fill(index),
      fileName: `${index}.bin`,
    })
  await createApiKey(session, { name: 'app', roles: ['VAULT_OWNER'] })
  await session.insert('notes', [{ fields: { text: 'n' } }])
  const last = await session.insert('people', [{ fields: fieldsOf(count) }], { tokenization: true })
  const gone = { id: last.records[0]?.id ?? '', name: '', token: String(last.records[0]?.tokens?.name) }
  await session.delete('people', [gone.id])
  return { known, gone }
}

/** All rows of a vault by table, without what differs between a storage and its copy. */
export async function rowsOf(storage: StorageHandle): Promise<ReadonlyMap<string, readonly Row[]>> {
  return storage.snapshot(async (snapshot) => {
    const found = new Map<string, readonly Row[]>()
    for (const { name } of snapshot.tables) {
      // The processes that have the vault open have not opened its copy.
      if (name === 'openings') continue
      const rows = await snapshot.find(name, { kind: 'all' }, { order: 'asc', limit: 1_000_000 })
      found.set(
        name,
        name === 'catalog'
          ? rows.filter(({ entry }) => entry !== 'departed')
          : name === 'audit_chains'
            ? rows.map(({ released: _, ...row }) => row as Row)
            : rows,
      )
    }
    return found
  })
}
