/** A caller's access to all tables, as operations use it, and the fault of a denied action. */
import { type Fault, fault, withoutStack, words } from '../errors.ts'
import type { CacheReading } from '../ports/observability.ts'
import type { Table } from '../schema/layout.ts'
import { type Caller, purposeOf } from './caller.ts'
import type { Policy } from './compile-policy.ts'
import type { Rule } from './rule.ts'
import type { Action } from './statement.ts'
import { createTableAccess, type TableAccess } from './table-access.ts'

/** One caller's access to the vault. */
export interface Access {
  /** The caller's access to a table of the policy's own layout. */
  table(table: Table): TableAccess
  /** True if the caller can read the audit trail. */
  readonly allowsAudit: boolean
  /**
   * True if a statement of the caller grants ALL ON * in plain text, and none is a DENY, as for VAULT_OWNER. What the schema has now does not
   * count: a caller who is granted each table of today by its name is not granted the table of tomorrow.
   */
  readonly allowsEverything: boolean
  /** The caller's roles with a DENY. A credential without them could do more than the caller. */
  readonly denyingRoles: readonly string[]
  /** True if some row of some table can grant the action. If false, every operation that needs it throws `forbidden`. */
  possiblyAllowsAnywhere(action: Action): boolean
}

/** Maximum number of cached accesses per policy. Above it, the cache is cleared. */
const MAX_CACHED_ACCESSES = 1024

/** Accesses that depend only on the roles. */
interface CachedAccesses {
  readonly byRoles: Map<string, Access>
  hits: number
  misses: number
}

const cached = new WeakMap<Policy, CachedAccesses>()

function openAccesses(policy: Policy): CachedAccesses {
  const known = cached.get(policy)
  if (known !== undefined) return known
  const accesses: CachedAccesses = { byRoles: new Map(), hits: 0, misses: 0 }
  cached.set(policy, accesses)
  return accesses
}

/** Returns the state of the cache of a policy. Accesses that depend on the context of a caller are not cached, and not counted. */
export function readCachedAccesses(policy: Policy): CacheReading {
  const { byRoles, hits, misses } = openAccesses(policy)
  return { cache: 'access', entries: byRoles.size, hits, misses }
}

/**
 * Returns the caller's access under the policy. Roles add up, and unknown roles grant nothing. Callers with the same roles share one
 * access, those with a purpose and those without one, unless one of their conditions uses the caller's context.
 */
export function accessOf(policy: Policy, caller: Pick<Caller, 'roles' | 'context'>): Access {
  const roles = knownRoles(policy, caller)
  if (roles.some((role) => policy.roles.get(role)?.contextNames.length !== 0)) return createAccess(policy, roles, caller)
  const accesses = openAccesses(policy)
  const { byRoles } = accesses
  const purpose = purposeOf(caller)
  const key = `${purpose === undefined ? '' : 'purpose '}${JSON.stringify(roles)}`
  const known = byRoles.get(key)
  if (known !== undefined) {
    accesses.hits++
    return known
  }
  accesses.misses++
  // No condition reads the context: of the purpose, it matters that there is one.
  const access = createAccess(policy, roles, purpose === undefined ? {} : { context: { purpose } })
  if (byRoles.size >= MAX_CACHED_ACCESSES) byRoles.clear()
  byRoles.set(key, access)
  return access
}

/** Returns the roles of a caller that the policy has, each once and in one order. Most callers have one. */
function knownRoles(policy: Policy, { roles }: Pick<Caller, 'roles'>): readonly string[] {
  const [only] = roles
  if (roles.length === 1 && only !== undefined) return policy.roles.has(only) ? [only] : []
  return [...new Set(roles)].filter((role) => policy.roles.has(role)).sort()
}

function createAccess(policy: Policy, roles: readonly string[], caller: Pick<Caller, 'context'>): Access {
  const tables = new Map<Table, TableAccess>()
  const accessTo = (table: Table): TableAccess => {
    let access = tables.get(table)
    if (access === undefined) {
      access = createTableAccess(table, rulesFor(policy, roles, table), caller)
      tables.set(table, access)
    }
    return access
  }
  const anywhere = new Map<Action, boolean>()
  const possiblyAllowsAnywhere = (action: Action): boolean => {
    const known = anywhere.get(action)
    if (known !== undefined) return known
    const isAllowed = [...policy.layout.tables.values()].some((table) => accessTo(table).possiblyMeets({ action, columns: [] }))
    anywhere.set(action, isAllowed)
    return isAllowed
  }
  const denyingRoles = roles.filter((role) => policy.roles.get(role)?.denies)
  return {
    table: accessTo,
    // AUDIT is only granted ON * and without WHERE, so every table gives the same result.
    get allowsAudit() {
      return possiblyAllowsAnywhere('AUDIT')
    },
    allowsEverything: denyingRoles.length === 0 && roles.some((role) => policy.roles.get(role)?.grantsEverything),
    denyingRoles,
    possiblyAllowsAnywhere,
  }
}

/** The rules of these roles for a table, in the order of roles and statements. */
export function rulesFor(policy: Policy, roles: readonly string[], table: Table): readonly Rule[] {
  return roles.flatMap((role) => policy.roles.get(role)?.rules.get(table) ?? [])
}

/** The fault for an action that no statement grants; to be thrown. It names the kind of caller, the action and the requested table. */
export function forbidden(caller: Pick<Caller, 'actorType'>, action: Action | 'ALL', table?: Table): Fault {
  const who = words(caller.actorType === 'USER' ? 'The user' : 'The service account')
  const details = table === undefined ? {} : { table: table.name }
  return withoutStack(
    () => fault('forbidden', details)`${who} is not granted ${words(action)} for this request. Ask the vault owner for a role.`,
  )
}
