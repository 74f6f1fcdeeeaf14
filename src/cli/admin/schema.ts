/** The schema of the configuration: `schema check` alone, `schema plan` against the stored one, and `schema apply`. */
import { isVaultError } from '../../index.ts'
import type { CommandOptions, CommandWork } from '../command.ts'
import type { AnyVault } from '../config/any-vault.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import { watch } from '../watch.ts'
import { openInMemory } from './memory-vault.ts'
import { pairsOf } from './pair-options.ts'

type SchemaPlan = Awaited<ReturnType<AnyVault['planSchemaChange']>>
type SchemaMoves = NonNullable<Parameters<AnyVault['planSchemaChange']>[1]>

/** The work of `strongroom schema check`. */
export const checkSchema: CommandWork = async ({ loadConfig, output }) => {
  const { config } = await loadConfig()
  const vault = await openInMemory(config, {})
  const rows = Object.entries(vault.schema).flatMap(([table, columns]) =>
    Object.entries(columns).map(
      ([column, { type, encrypted, redaction, lookup, index, contains, required, unique, uniqueTogether = [], tokenKind }]) => ({
        table,
        column,
        type,
        stored: encrypted ? 'sealed' : 'plain',
        redaction,
        lookup: lookup ? 'yes' : '',
        rules: [
          required ? 'required' : '',
          unique ? 'unique' : '',
          ...uniqueTogether.map((names) => `unique: ${names.join(' + ')}`),
          index === undefined ? '' : `index: ${index}`,
          contains === true ? 'index: contains' : '',
        ]
          .filter((rule) => rule !== '')
          .join(', '),
        token: tokenKind ?? '',
      }),
    ),
  )
  await vault.close()
  output.rows(rows)
  output.note(`The schema is valid: ${Object.keys(vault.schema).length} tables, ${rows.length} columns.`)
  return undefined
}

/** The work of `strongroom schema plan`. */
export const planSchema: CommandWork = async ({ loadConfig, openVault, options, output, signal }) => {
  const { config } = await loadConfig()
  const vault = await openVault({ comparesSchema: true })
  const plan = await vault.planSchemaChange(config.vault.schema, movesOf(options), { signal })
  const { steps, refusals, leftOut, from, needsNewProcesses, waitsMs } = plan
  if (output.isJson) output.result({ from, steps, refusals, leftOut, needsNewProcesses, waitsMs }, () => '')
  else output.rows(describePlan(plan), 'The stored schema is that of the configuration.')
  if (waitsMs > 0) output.note(`Applying waits ${waitsMs / 1000} s in all, until no reader goes by the older schema.`)
  if (refusals.length > 0) output.note('The schema is refused. Nothing was changed.')
  return refusals.length === 0 ? undefined : EXIT.found
}

/** A plan as rows of a table. */
export function describePlan({ steps, refusals, leftOut }: Pick<SchemaPlan, 'steps' | 'refusals' | 'leftOut'>) {
  return [
    ...steps.map(({ kind, table = '', column = '', what, rows, estimateMs, blocksWritesMs, olderProcesses }) => ({
      step: kind,
      table,
      column,
      what,
      rows: String(rows),
      takes: time(estimateMs),
      'writers wait': time(blocksWritesMs),
      'older processes': olderProcesses,
    })),
    ...refusals.map(({ table, column = '', reason }) => ({
      step: 'refused',
      table,
      column,
      what: reason,
      rows: '',
      ...NO_TIMES,
    })),
    ...leftOut.map(({ table, column = '', rows }) => ({
      step: 'left out',
      table,
      column,
      what: 'stays stored; not seen with this schema',
      rows: String(rows),
      ...NO_TIMES,
    })),
  ]
}

const NO_TIMES = { takes: '', 'writers wait': '', 'older processes': '' }

function time(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${Math.ceil(ms / 1000)} s`
}

/** The work of `strongroom schema apply`. */
export const applySchema: CommandWork = async (run) => {
  const { loadConfig, openVault, options, output, signal } = run
  const { config } = await loadConfig()
  const vault = await openVault({ comparesSchema: true }).catch((error: unknown) => {
    if (!isWithoutVault(error)) throw error
    return openVault({ serves: true })
  })
  const seconds = options.integer('wait')
  const watching = { ...watch(run, 'records'), ...(seconds !== undefined && { settleMs: seconds * 1000 }) }
  const plan = await vault.planSchemaChange(config.vault.schema, movesOf(options), { signal, readsRecords: false })
  if (plan.steps.length + plan.refusals.length > 0) await vault.applySchemaChange(plan, watching)
  output.result({ applied: true, leftOut: plan.leftOut }, () => 'The vault has the schema of the configuration.')
  return undefined
}

/** True if there is no vault yet, so that one is to be founded. */
function isWithoutVault(error: unknown): boolean {
  if (error instanceof CommandFailure) return error.exitCode === EXIT.unavailable
  return isVaultError(error, 'failed_precondition') && error.message.startsWith('Cannot open the vault: the storage has none')
}

/** Returns the moves of `--rename`, `--keep`, `--erase`, `--convert` and `--finish`. */
function movesOf(options: CommandOptions): SchemaMoves {
  const fates = (['keep', 'erase'] as const).flatMap((fate) => options.list(fate).map((path) => [path, fate] as const))
  return {
    rename: pairsOf(options, 'rename', 'table=name or table.column=name'),
    drop: Object.fromEntries(fates),
    convert: pairsOf(options, 'convert', 'table.column=converter'),
    finish: options.list('finish'),
  }
}
