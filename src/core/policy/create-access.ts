/** What a caller may do, table by table: the door operations ask. */
import type { Table } from '../schema/layout.ts'
import type { Action } from './actions.ts'
import type { Caller } from './caller.ts'
import type { Policy } from './compile-policy.ts'
import { createTableAccess } from './create-table-access.ts'
import type { Rule } from './rule.ts'
import type { TableAccess } from './table-access.ts'

/** One caller's hold on the vault. */
export interface Access {
  /** His hold on a table of the policy's own layout. */
  table(table: Table): TableAccess
  /** True when he may read the audit trail. */
  readonly mayAudit: boolean
  /** True when some row of some table could grant him the action: where it is false, every verb that needs it is forbidden. */
  couldAnywhere(action: Action): boolean
}

/** Accesses cached for sets of roles at most; a vault with more sets than this begins anew. */
const MAX_CACHED_ACCESSES = 1024

/** Accesses that depend on nothing but the roles, by policy. */
const cached = new WeakMap<Policy, Map<string, Access>>()

/**
 * The caller's access under the policy. Roles add up; one the policy does not know grants nothing. Callers of the same roles
 * share one access, unless a condition of theirs asks for facts of the caller's context.
 */
export function accessOf(policy: Policy, caller: Pick<Caller, 'roles' | 'context'>): Access {
  const roles = [...new Set(caller.roles)].filter((role) => policy.roles.has(role)).sort()
  if (roles.some((role) => policy.roles.get(role)?.usesContext)) return createAccess(policy, roles, caller.context)
  const byRoles = cached.get(policy) ?? new Map<string, Access>()
  cached.set(policy, byRoles)
  const key = JSON.stringify(roles)
  const known = byRoles.get(key)
  if (known !== undefined) return known
  const access = createAccess(policy, roles, undefined)
  if (byRoles.size >= MAX_CACHED_ACCESSES) byRoles.clear()
  byRoles.set(key, access)
  return access
}

function createAccess(policy: Policy, roles: readonly string[], context: Caller['context']): Access {
  const tables = new Map<Table, TableAccess>()
  const accessTo = (table: Table): TableAccess => {
    let access = tables.get(table)
    if (access === undefined) {
      access = createTableAccess(table, rulesFor(policy, roles, table), context)
      tables.set(table, access)
    }
    return access
  }
  const couldAnywhere = (action: Action) =>
    [...policy.layout.tables.values()].some((table) => accessTo(table).couldMeet({ action, columns: [] }))
  return {
    table: accessTo,
    // AUDIT is only ever said of everything, and never of some rows: whatever holds of one table holds of all.
    get mayAudit() {
      return couldAnywhere('AUDIT')
    },
    couldAnywhere,
  }
}

/** What these roles' statements say about a table, in the order of roles and statements. */
export function rulesFor(policy: Policy, roles: readonly string[], table: Table): readonly Rule[] {
  return roles.flatMap((role) => policy.roles.get(role)?.rules.get(table) ?? [])
}
