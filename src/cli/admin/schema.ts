/** The schema of the configuration: `schema check` alone, `schema plan` against the stored one, and `schema apply`. */
import type { CommandWork } from '../command.ts'
import type { AnyVault } from '../config/any-vault.ts'
import { EXIT } from '../failure.ts'
import { openInMemory } from './memory-vault.ts'

type PlannedChange = Awaited<ReturnType<AnyVault['planSchema']>>[number]

/** The work of `strongroom schema check`. */
export const checkSchema: CommandWork = async ({ loadConfig, output }) => {
  const { config } = await loadConfig()
  const vault = await openInMemory(config, {})
  const rows = Object.entries(vault.schema).flatMap(([table, columns]) =>
    Object.entries(columns).map(([column, { type, encrypted, redaction, lookup, required, unique, tokenKind }]) => ({
      table,
      column,
      type,
      stored: encrypted ? 'sealed' : 'plain',
      redaction,
      lookup: lookup ? 'yes' : '',
      rules: [required ? 'required' : '', unique ? 'unique' : ''].filter((rule) => rule !== '').join(', '),
      token: tokenKind ?? '',
    })),
  )
  await vault.close()
  output.rows(rows)
  output.note(`The schema is valid: ${Object.keys(vault.schema).length} tables, ${rows.length} columns.`)
  return undefined
}

/** The work of `strongroom schema plan`. */
export const planSchema: CommandWork = async ({ loadConfig, openVault, output, signal }) => {
  const { config } = await loadConfig()
  const vault = await openVault()
  const changes = await vault.planSchema(config.vault.schema, { signal })
  if (output.isJson) output.result(changes, () => '')
  else output.rows(changes.map(describeChange), 'The stored schema is that of the configuration.')
  const refused = changes.filter((change) => change.refused !== undefined)
  if (refused.length > 0) output.note('A process with this schema does not open the vault. Nothing was changed.')
  return refused.length === 0 ? undefined : EXIT.found
}

/** A change as a row of a table. */
function describeChange(change: PlannedChange) {
  const { table, column, option, before, after, refused, stopsWrites } = change
  const what = change.change === 'changed' ? `${option}: ${text(before)} to ${text(after)}` : change.change
  return { table, column: column ?? '', change: what, effect: refused ?? stopsWrites ?? effectOf(change) }
}

/** What a change does when the vault is opened with it. Source: docs/schema-changes.md. */
function effectOf({ change, option, after }: PlannedChange): string {
  if (change === 'added') return 'added when a server opens the vault'
  if (change === 'left out') return 'stays stored; not seen with this schema'
  const isSet = after === true
  switch (option) {
    case 'unique':
    case 'searchable':
      return 'all records get digests, or an index; older processes cannot write the table'
    case 'required':
      return isSet ? 'records have values; older processes cannot write the table' : 'taken away for all processes'
    case 'index':
      return 'an index is made; writers of the table wait'
    default:
      return 'in effect when a server opens the vault; no record changes'
  }
}

function text(value: unknown): string {
  return value === undefined ? 'none' : JSON.stringify(value)
}

/** The work of `strongroom schema apply`. */
export const applySchema: CommandWork = async ({ loadConfig, openVault, output }) => {
  const { config } = await loadConfig()
  const vault = await openVault({ serves: true, onProgress: output.progress('records') })
  const changes = await vault.planSchema(config.vault.schema, { readsRecords: false })
  output.result({ applied: true, leftOut: changes }, () => 'The vault has the schema of the configuration.')
  return undefined
}
