/** What roles can do under one policy and under another one: every column and action that differs. */
import type { RedactionLevel } from '../redaction.ts'
import type { Column } from '../schema/column-layout.ts'
import { presentOnly } from '../schema/describe-schema.ts'
import type { Table } from '../schema/layout.ts'
import type { Policy } from './compile-policy.ts'
import { accessOf } from './create-access.ts'
import { type ColumnExplanation, decide, evaluateRole, relevantRules } from './explain-access.ts'
import { actionsOn } from './policy-findings.ts'
import { levelBy, type Rule } from './rule.ts'
import type { Action } from './statement.ts'

/** What callers of a role can do with a column. Conditions on the context of a caller count as decided by the row. */
export interface RoleAccess {
  /** CONDITIONAL if it depends on the row, or on the context of the caller. */
  readonly decision: ColumnExplanation['decision']
  /** Of READ: the level shown in every row. Absent if some row hides the column. */
  readonly level?: RedactionLevel
  /** Of READ: the highest level shown in any row. Absent if every row hides the column. */
  readonly highestLevel?: RedactionLevel
  /** The conditions of statements that allow it in some rows. Absent if there are none. */
  readonly when?: readonly string[]
  /** The conditions of statements that deny it in some rows. Absent if there are none. */
  readonly unless?: readonly string[]
}

/** A difference in what callers of a role can do. AUDIT is about no table: both names are `*`. */
export interface AccessChange {
  readonly role: string
  readonly table: string
  readonly column: string
  readonly action: Action
  readonly before: RoleAccess
  readonly after: RoleAccess
}

/** Returns what the policies decide differently for these roles, in the order of roles, tables, columns and actions. */
export function comparePolicies(before: Policy, after: Policy, roles: readonly string[]): readonly AccessChange[] {
  return roles.flatMap((role) => {
    const audit = changeOf(readAudit(before, role), readAudit(after, role))
    const inTables = [...after.layout.tables.values()].flatMap((table) => {
      const [old, now] = [reader(before, role, table), reader(after, role, table)]
      return table.columns.flatMap((column) =>
        actionsOn(column).flatMap((action) => {
          // It is granted once for the vault.
          if (action === 'AUDIT') return []
          const change = changeOf(old(column, action), now(column, action))
          return change === undefined ? [] : { role, table: table.name, column: column.name, action, ...change }
        }),
      )
    })
    return audit === undefined ? inTables : [{ role, table: '*', column: '*', action: 'AUDIT' as const, ...audit }, ...inTables]
  })
}

/** An access, and a text that is equal for equal accesses: two conditions at two levels can have the same names and levels together. */
interface ReadAccess {
  readonly access: RoleAccess
  readonly key: string
}

const DENIED: ReadAccess = { access: { decision: 'DENIED' }, key: 'DENIED' }

function changeOf(before: ReadAccess, after: ReadAccess): Pick<AccessChange, 'before' | 'after'> | undefined {
  return before.key === after.key ? undefined : { before: before.access, after: after.access }
}

function readAudit(policy: Policy, role: string): ReadAccess {
  return accessOf(policy, { roles: [role] }).allowsAudit ? { access: { decision: 'ALLOWED' }, key: 'ALLOWED' } : DENIED
}

/** Returns what reads the access of a role to the columns of a table. */
function reader(policy: Policy, role: string, table: Table): (column: Column, action: Action) => ReadAccess {
  const evaluated = evaluateRole(policy, role, table)
  return (column, action) => {
    const { decision, level, highestLevel } = decide(evaluated, action, column)
    // What no row grants is the same whatever its conditions are.
    if (decision === 'DENIED') return DENIED
    const relevant = relevantRules(evaluated, action, column).flatMap(({ rule, applies }) =>
      applies === 'SOMETIMES' ? rule : [],
    )
    const conditions = (effect: Rule['effect']) =>
      [...new Set(relevant.flatMap((rule) => (rule.effect === effect ? (rule.when?.key ?? []) : [])))].sort()
    const [when, unless] = [conditions('ALLOW'), conditions('DENY')]
    const isRead = action === 'READ'
    const access: RoleAccess = {
      decision,
      ...(isRead ? presentOnly({ level, highestLevel }) : {}),
      ...(when.length === 0 ? {} : { when }),
      ...(unless.length === 0 ? {} : { unless }),
    }
    const levels = relevant.map((rule) => `${rule.effect} ${isRead ? levelBy(rule, column) : ''} ${rule.when?.key}`)
    return { access, key: JSON.stringify([access, [...new Set(levels)].sort()]) }
  }
}
