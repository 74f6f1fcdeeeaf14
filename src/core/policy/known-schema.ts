/** The schema as far as a caller knows it: what they are granted something on, at which level, and the statements that decide it. */
import type { RedactionLevel } from '../redaction.ts'
import type { Column } from '../schema/column-layout.ts'
import { type ColumnDescription, presentOnly, type SchemaDescription } from '../schema/describe-schema.ts'
import type { Table } from '../schema/layout.ts'
import type { Caller } from './caller.ts'
import type { Policy } from './compile-policy.ts'
import { type Access, accessOf } from './create-access.ts'
import {
  type ColumnExplanation,
  decide,
  decisionOn,
  evaluateRules,
  relevantRules,
  type StatementExplanation,
} from './explain-access.ts'
import type { Rule } from './rule.ts'
import type { Action, Effect } from './statement.ts'
import { isComparable, type TableAccess } from './table-access.ts'

/** Whether an action is granted: in every row, in some rows, or in none. */
export type Decision = ColumnExplanation['decision']

/** A table as far as a caller knows it. */
export interface KnownTable {
  readonly name: string
  /** True if an insert can be granted: the caller can write every required column. */
  readonly canInsert: boolean
  /** True if some record can be one that the caller may delete. */
  readonly canDelete: boolean
  /** The columns on which something is granted. Others are left out, like columns that do not exist. */
  readonly columns: readonly KnownColumn[]
}

/** A column as far as a caller knows it. */
export interface KnownColumn extends ColumnDescription {
  readonly name: string
  /** Source of a regular expression, with the flag `u`, that finds what may be tokens of the column in prose. Only of a column with tokens. */
  readonly tokenPattern?: string
  readonly read: KnownReading
  readonly search: Decision
  readonly create: Decision
  readonly update: Decision
  readonly detokenize: Decision
}

/** What READ shows of a column, and why. */
export interface KnownReading {
  readonly decision: Decision
  /** The level that is shown at least in every row. Absent if some row hides the column. */
  readonly level?: RedactionLevel
  /** The highest level that is shown in any row. Absent if every row hides the column. */
  readonly highestLevel?: RedactionLevel
  /** `purpose`: the column requires one, and this caller states none. */
  readonly lacks?: 'purpose'
  readonly statements: readonly KnownStatement[]
  /** The number of columns in conditions of these statements that the caller does not know. Absent if they know all. */
  readonly hiddenColumns?: number
}

/** One statement's part in a decision. */
export interface KnownStatement extends Omit<StatementExplanation, 'text'> {
  readonly effect: Effect
  /**
   * The statement in one line. Absent if it names a table or a column that the caller does not know, or if its condition compares a column that
   * they see in plain text in no row: the values in it are what these rows have.
   */
  readonly text?: string
}

/** Tokens without a format: pointers are UUIDs of version 4, digests of version 8. Either can be given in capitals. */
const UUID_PATTERN = '[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[48][0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}'

/** The actions by which a caller can name a column. By any other, a column that exists and one that does not are the same to them. */
const NAMING = ['READ', 'SEARCH', 'CREATE', 'UPDATE', 'TOKENIZATION'] as const satisfies readonly Action[]

/** True if a caller can know that the column exists. */
export function isKnownColumn(access: Pick<TableAccess, 'possiblyAllows'>, column: Column): boolean {
  return NAMING.some((action) => access.possiblyAllows(action, column))
}

/** Returns the tables that a caller is granted something on. `schema` is the description of the layout of the policy. Reads no stored data. */
export function describeKnown(
  policy: Policy,
  caller: Pick<Caller, 'roles' | 'context'>,
  schema: SchemaDescription,
): readonly KnownTable[] {
  const access = accessOf(policy, caller)
  const describing = { policy, caller, access, schema }
  return [...policy.layout.tables.values()].flatMap((table) =>
    access.table(table).hasAnyGrant ? [describeTable(describing, table)] : [],
  )
}

interface Describing {
  readonly policy: Policy
  readonly caller: Pick<Caller, 'roles' | 'context'>
  readonly access: Access
  readonly schema: SchemaDescription
}

function describeTable({ policy, caller, access, schema }: Describing, table: Table): KnownTable {
  const own = access.table(table)
  const evaluated = evaluateRules(policy, caller, table)
  const known = table.columns.filter((column) => isKnownColumn(own, column))
  const describe = (column: Column): readonly KnownColumn[] => {
    const description = schema[table.name]?.[column.name]
    if (description === undefined) return []
    const on = (action: Action) => decisionOn(evaluated, action, column)
    const { decision, ...shown } = decide(evaluated, 'READ', column)
    const relevant = relevantRules(evaluated, 'READ', column)
    const hidden = new Set(relevant.flatMap(({ rule }) => rule.when?.columns ?? []).filter((one) => !known.includes(one)))
    const { uniqueTogether, ...members } = description
    const together = uniqueTogether?.filter((names) => names.every((name) => known.some((one) => one.name === name)))
    return [
      {
        name: column.name,
        ...members,
        ...(together === undefined || together.length === 0 ? {} : { uniqueTogether: together }),
        ...(column.token === undefined ? {} : { tokenPattern: column.format?.pattern ?? UUID_PATTERN }),
        read: {
          decision,
          ...presentOnly(shown),
          statements: relevant.map(({ rule, applies }) => {
            const { role, position, text } = rule.origin
            return { role, position, effect: rule.effect, applies, ...(isKnownRule(policy, access, rule) ? { text } : {}) }
          }),
          ...(hidden.size === 0 ? {} : { hiddenColumns: hidden.size }),
        },
        search: on('SEARCH'),
        create: on('CREATE'),
        update: on('UPDATE'),
        detokenize: on('DETOKENIZATION'),
      },
    ]
  }
  const canWrite = (column: Column) => !column.required || own.possiblyAllows('CREATE', column)
  return {
    name: table.name,
    canInsert: own.possiblyMeets({ action: 'CREATE', columns: [] }) && table.columns.every(canWrite),
    canDelete: own.possiblyMeets({ action: 'DELETE', columns: table.columns }),
    columns: known.flatMap(describe),
  }
}

/** True if a caller knows all that the statement of a rule names, and may see the values that its condition compares. */
function isKnownRule({ layout }: Policy, access: Access, { targets, when }: Rule): boolean {
  const isKnownTarget = ({ table: name, column }: Rule['targets'][number]): boolean => {
    const table = name === undefined ? undefined : layout.tables.get(name)
    if (table === undefined) return name === undefined
    const own = access.table(table)
    const named = column === undefined ? undefined : table.byName.get(column)
    return named === undefined ? own.hasAnyGrant : isKnownColumn(own, named)
  }
  if (!targets.every(isKnownTarget)) return false
  const [target] = targets
  const table = target?.table === undefined ? undefined : layout.tables.get(target.table)
  if (when === undefined || table === undefined) return when === undefined
  return when.columns.every((column) => isComparable(access.table(table), column))
}
