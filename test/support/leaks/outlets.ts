/** Outputs of a vault beside its results: the audit trail as an auditor reads it, and storage as a thief reads it. */
import { inspect } from 'node:util'
import type { Row, StorageHandle } from '../../../src/core/ports/storage.ts'
import type { Caller, SchemaDefinition, Session, Vault } from '../../../src/index.ts'
import { OWNER } from '../vaults/test-vault.ts'

/** A vault of any tables. */
interface Audited extends Pick<Vault, 'exportAudit'> {
  as(caller: Caller): Pick<Session<SchemaDefinition>, 'listEvents'>
}

/** The whole trail, listed page by page and exported. */
export async function auditOf(vault: Audited): Promise<string> {
  const lines: string[] = []
  const owner = vault.as(OWNER)
  const query = { filterOps: { accountID: 'v1' }, limit: 100 }
  for (let page = await owner.listEvents(query); ; ) {
    lines.push(...page.events.map((event) => `${JSON.stringify(event)} ${inspect(event, { depth: 12 })}`))
    if (page.nextOps === undefined) break
    page = await owner.listEvents({ ...query, afterOps: page.nextOps })
  }
  for await (const line of vault.exportAudit()) lines.push(line)
  return lines.join('\n')
}

/** The same storage, which records the names of the tables that it creates. */
export function naming(storage: StorageHandle, names: Set<string>): StorageHandle {
  return {
    ...storage,
    async prepare(tables) {
      for (const { name } of tables) names.add(name)
      await storage.prepare(tables)
    },
    transaction: (work) => storage.transaction(work),
  }
}

/** Every cell of every table; each byte as the character of the same number. */
export async function dumpOf(storage: StorageHandle, names: Iterable<string>): Promise<string> {
  const texts: string[] = []
  for (const name of names) {
    let rows: readonly Row[] = []
    do {
      const after = rows.at(-1)?.id
      rows = await storage.find(name, { kind: 'all' }, { order: 'asc', limit: 1000, ...(after === undefined ? {} : { after }) })
      for (const row of rows) for (const cell of Object.values(row)) texts.push(cellText(cell))
    } while (rows.length === 1000)
  }
  return texts.join('\n')
}

/** A cell as text. */
export function cellText(cell: unknown): string {
  return cell instanceof Uint8Array ? Buffer.from(cell).toString('latin1') : String(cell)
}
