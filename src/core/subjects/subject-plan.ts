/** The tables and columns by which the records of one kind of subject are found, and what a caller needs for them. */
import { fault, printableName, words } from '../errors.ts'
import type { SessionContext } from '../execution/context.ts'
import { requireAccess } from '../execution/grants.ts'
import { forbidden } from '../policy/create-access.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { originOf, subjectTables } from '../schema/subjects.ts'
import { at, inWords, required } from '../util/lists.ts'

/** How the rows of a table are found by those of another one: by their ids, or by the values of a column. */
export interface PlannedRelation {
  readonly column: Column
  readonly parent: Table
  /** Undefined for a column that holds ids of records of the parent. */
  readonly equals: Column | undefined
}

/** One table of a subject, and how its rows are found. */
export interface PlannedTable {
  readonly table: Table
  readonly relations: readonly PlannedRelation[]
}

/** The tables of one kind of subject: its own first, each other one after those that it is found by. */
export interface SubjectPlan {
  readonly kind: string
  readonly root: Table
  readonly tables: readonly PlannedTable[]
}

/**
 * Returns the plan of a kind of subject by the stored schema. Throws `not_found` for a kind that it does not have, and `failed_precondition` if the schema
 * of this process lacks a table or column of it: what it cannot see it would leave.
 */
export function planSubject({ layout, catalog }: Pick<SessionContext, 'layout' | 'catalog'>, kind: unknown): SubjectPlan {
  const { rules, tables: stored } = catalog.schema
  const subjects = rules.subjects ?? {}
  const subject = typeof kind === 'string' && Object.hasOwn(subjects, kind) ? subjects[kind] : undefined
  if (typeof kind !== 'string' || subject === undefined) {
    const known = Object.keys(subjects)
    const list = words(known.length === 0 ? 'The schema has no subjects.' : `Supported: ${inWords(known)}.`)
    throw fault('not_found')`Subject ${printableName(kind)} does not exist. ${list}`
  }
  const tableNamed = (name: string): Table => {
    const table = layout.tables.get(name)
    const missing = Object.keys(stored[name]?.columns ?? {}).find((column) => table?.byName.has(column) !== true)
    if (table !== undefined && missing === undefined) return table
    throw fault('failed_precondition', {
      table: name,
    })`The schema of this process lacks a part of table ${name}, which subject ${kind} has. Restart the process with the stored schema.`
  }
  const tables = [...subjectTables(subject)].map(([name, { relations }]): PlannedTable => {
    const table = tableNamed(name)
    const planned = relations.map((relation): PlannedRelation => {
      const origin = originOf(relation)
      const parent = tableNamed(origin.table)
      const column = required(table.byName.get(relation.column))
      return { column, parent, equals: origin.column === undefined ? undefined : required(parent.byName.get(origin.column)) }
    })
    return { table, relations: planned }
  })
  return { kind, root: at(tables, 0).table, tables }
}

/**
 * Throws `forbidden` unless the caller has the action on every column of every record of all tables of a subject. A caller who could see a part of them
 * would get less than there is, and not notice.
 */
export function assertWholeAccess(context: SessionContext, { tables }: SubjectPlan, action: 'READ' | 'DELETE'): void {
  for (const { table } of tables) {
    const columns = action === 'READ' ? table.readable : table.columns
    if (!requireAccess(context, table, action).alwaysMeets({ action, columns })) throw forbidden(context.caller, action, table)
  }
}
