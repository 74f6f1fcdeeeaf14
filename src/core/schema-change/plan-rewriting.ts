/** The steps of a change that rewrite or erase stored bytes, and what is in their way. Only reads. */
import { digestPresent } from '../barrier/digest-values.ts'
import { isVaultError } from '../errors.ts'
import { countMatches, eachPage } from '../pace/pace.ts'
import type { Storage } from '../ports/storage.ts'
import { assertFits } from '../records/choose-tokens.ts'
import type { CatalogTable, GoneColumn } from '../schema/catalog-schema.ts'
import { tokenOf } from '../schema/column.ts'
import { layoutSchema, type Table, type WrittenTable } from '../schema/layout.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'
import { addSeen, type RowProblem } from './inspect-rows.ts'
import type { NextSchema } from './next-schema.ts'
import { NOW, type PlanPorts, type PlanRequest, type SchemaStep, timed } from './schema-plan.ts'
import { missingValues, onlyHidden, schemaName } from './succeed-rows.ts'

/** Microseconds for each row whose value is stored anew, and for each that loses what is gone. */
const SUCCEED_US = 60
const ERASE_US = 30

/** What a plan says of these steps. */
interface Rewriting {
  readonly steps: readonly SchemaStep[]
  readonly problems: readonly { readonly table: Pick<Table, 'name'>; readonly problem: RowProblem }[]
}

/** Returns the number of records of a table, by its new name. */
export type CountOf = (table: string) => Promise<number>

/** Returns the steps, in the order in which they are made. */
export async function planRewriting(
  ports: PlanPorts,
  { way, countOf }: { readonly way: NextSchema; readonly countOf: CountOf },
  { readsRecords, signal }: PlanRequest,
): Promise<Rewriting> {
  const steps = [
    ...(await successionSteps(way, countOf)),
    ...(await endingSteps(way, countOf)),
    ...(await goneSteps(ports.storage, way, countOf)),
  ]
  return { steps, problems: readsRecords ? await inspectSuccessions(ports, way, signal) : [] }
}

async function inspectSuccessions(
  ports: PlanPorts,
  { successions, begun }: NextSchema,
  signal: Signal | undefined,
): Promise<Rewriting['problems']> {
  if (successions.length === 0) return []
  const problems: { table: Table; problem: RowProblem }[] = []
  const { tables } = layoutSchema(begun)
  for (const name of new Set(successions.map(({ table }) => table))) {
    const written = tables.get(name)?.written
    if (written === undefined) continue
    for (const problem of await inspectRewriting(ports, written, signal)) problems.push({ table: written, problem })
  }
  return problems
}

async function successionSteps({ successions }: NextSchema, countOf: CountOf): Promise<SchemaStep[]> {
  const steps: SchemaStep[] = []
  for (const { table, column, was, options } of successions) {
    const rows = await countOf(table)
    const what = `stored anew with another ${options.join(', ')}`
    const olderProcesses = options.includes('type') ? 'read and write the new type' : 'work'
    steps.push({ ...timed(rows === 0 ? 'now' : 'fill', rows, SUCCEED_US), table, column, what, olderProcesses })
    if (tokenOf(was).kind !== undefined) steps.push({ ...NOW, table, column, what: FORMER_STAY })
  }
  return steps
}

const FORMER_STAY = 'its former tokens resolve until the move finish ends them'

/** Returns the steps of tables that stay: the ends of columns and of tokens, and the cells that they leave. */
async function endingSteps({ renamed, ended }: NextSchema, countOf: CountOf): Promise<SchemaStep[]> {
  const steps: SchemaStep[] = []
  for (const [table, after] of Object.entries(ended.tables)) {
    for (const [column, { former }] of Object.entries(renamed.tables[table]?.columns ?? {})) {
      const one = after.columns[column]
      if (one === undefined)
        steps.push({ ...NOW, table, column, what: 'the column ends', olderProcesses: 'cannot write the table' })
      else if (former !== undefined && one.former === undefined)
        steps.push({ ...NOW, table, column, what: 'its former tokens end' })
    }
    const cells = pendingGone(after).flatMap((one) => one.cells ?? [])
    if (pendingGone(after).length === 0 || renamed.tables[table] === undefined) continue
    const isPlain = cells.some(({ name }) => name.startsWith('plain_'))
    const what = `cells of columns that ended are erased${isPlain ? `. ${REMAINS}` : ''}`
    steps.push({ ...timed('erase', await countOf(table), ERASE_US), table, what })
  }
  return steps
}

/** Returns the steps of tables that end, and of those of which a run that was ended has not deleted all. */
async function goneSteps(storage: Storage, { renamed, ended }: NextSchema, countOf: CountOf): Promise<SchemaStep[]> {
  const steps: SchemaStep[] = []
  for (const { table, name } of ended.gone ?? []) {
    const isStored = renamed.gone?.some((one) => one.name === name) !== true
    if (isStored) steps.push({ ...NOW, table, what: 'the table ends', olderProcesses: 'cannot write the table' })
    else await storage.prepare([{ name, columns: [], indexes: [] }])
    const rows = isStored ? await countOf(table) : await countMatches(storage, name)
    steps.push({ ...timed('erase', rows, ERASE_US), table, what: `its records are erased. ${REMAINS}` })
  }
  return steps
}

/** What no change of the schema can take back. */
const REMAINS =
  'What was stored stays in the log, in free pages and in backups until they are rewritten: vault.purgeDisk, VACUUM.'

/** Returns the columns of which records can still have cells. */
export function pendingGone({ gone = [] }: Pick<CatalogTable, 'gone'>): readonly GoneColumn[] {
  return gone.filter(({ cells }) => cells !== undefined)
}

/** Reads a table, and counts the records whose values cannot take their new form. */
async function inspectRewriting(
  { storage, barrier, scheduler }: PlanPorts,
  written: WrittenTable,
  signal: Signal | undefined,
): Promise<RowProblem[]> {
  const unfit = new Map<string, number>()
  const equal = new Map<string, number>()
  const keys = new Map(written.hidden.filter(({ column }) => column.unique).map(({ column }) => [column, new Set<string>()]))
  for await (const rows of eachPage(storage, written.physical.name, { scheduler })) {
    assertNotAborted(signal)
    const made = missingValues(barrier, written, rows).flatMap(({ given }) => {
      try {
        const values = onlyHidden(written, given)
        for (const { column } of written.hidden) assertFits(written, column, values[column.position])
        return [values]
      } catch (error) {
        if (!isVaultError(error, 'unprocessable')) throw error
        add(unfit, schemaName(error.details[0]?.column), 1)
        return []
      }
    })
    for (const [column, seen] of keys) {
      const values = made.map((one) => one[column.position] ?? null)
      const cells =
        column.digest === undefined
          ? values.map((value) => (value === null ? null : column.type.toCell(value)))
          : digestPresent(barrier.ring, column, values).map((digest) => digest ?? null)
      add(equal, column.origin?.name ?? column.name, addSeen(seen, [cells]))
    }
  }
  return [
    ...[...unfit].map(([column, rows]) => ({ kind: 'unfit', column, rows }) as const),
    ...[...equal].map(([column, rows]) => ({ kind: 'equal', column, rows }) as const),
  ]
}

function add(counts: Map<string, number>, name: string, rows: number): void {
  if (rows > 0) counts.set(name, (counts.get(name) ?? 0) + rows)
}
