/** What a change of the schema may change of whose records have keys of their own. */
import { type Fault, fault, type Sentence, say } from '../errors.ts'
import type { Storage } from '../ports/storage.ts'
import type { Layout } from '../schema/layout.ts'
import { ownersOf, subjectsWithKeys } from '../schema/own-keys.ts'
import type { SchemaRules } from '../schema/schema-rules.ts'

/**
 * Throws `failed_precondition` if a subject would lose its keys, or if records are stored that would belong to one and are sealed with the key of the
 * vault. `before` is the layout of the stored schema.
 */
export async function assertOwnKeys(storage: Pick<Storage, 'find'>, before: Layout, rules: SchemaRules): Promise<void> {
  const after = subjectsWithKeys(rules)
  for (const [name, { table }] of subjectsWithKeys(before.rules)) {
    if (after.get(name)?.table === table) continue
    throw refused(
      say`ownKeys of subject ${name} cannot be turned off, because its records are sealed with keys of their own. Restore it.`,
    )
  }
  const known = ownersOf(before.rules)
  for (const [name] of ownersOf(rules)) {
    const table = before.tables.get(name)
    if (table === undefined || known.has(name)) continue
    const rows = await storage.find(table.physical.name, { kind: 'all' }, { order: 'asc', limit: 1, columns: [] })
    if (rows.length === 0) continue
    throw refused(
      say`ownKeys cannot be turned on for table ${name}, because it holds records that are sealed with the key of the vault. Turn it on before the first record is stored.`,
    )
  }
}

function refused(reason: Sentence): Fault {
  return fault('failed_precondition')`Cannot open the vault: ${reason}`
}
