/** The policy, for those who can grant everything: as it is, and what a draft of roles would change. */
import type { OperationContext } from '../execution/context.ts'
import { assertOwner } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { toFilter } from '../expressions/condition-filter.ts'
import { countMatches } from '../pace/pace.ts'
import { type AccessChange, comparePolicies, type RoleAccess } from '../policy/compare-policies.ts'
import { contextNamesOf, type Policy } from '../policy/compile-policy.ts'
import { accessOf } from '../policy/create-access.ts'
import { parseDraft, withDraft } from '../policy/draft.ts'
import { findIdleStatements, type PolicyFinding } from '../policy/policy-findings.ts'
import { BUILT_IN_ROLES, type PolicyDefinition, type PolicyError, type PolicyPlace } from '../policy/statement.ts'
import { isComparable } from '../policy/table-access.ts'
import type { Filter } from '../ports/storage.ts'
import { filterCells } from '../row-access/find-visible.ts'
import type { Table } from '../schema/layout.ts'

/** A policy as it is read. */
export interface ReadPolicy {
  /** The roles that the application defined, each with its statements in one line. */
  readonly roles: readonly { readonly name: string; readonly statements: readonly string[] }[]
  /** Names of the roles that every vault has. */
  readonly builtIn: readonly string[]
  /** The attributes that conditions read as `ctx.name`, in lower case, each once. */
  readonly contextNames: readonly string[]
}

/** Returns the policy of the vault. Needs ALL ON * in plain text and no DENY. */
export const readPolicy: Operation<object, object, ReadPolicy> = {
  action: 'READ_POLICY',
  resourceType: 'VAULT',
  verb: 'Read policy',
  members: [],
  recorded: {},
  parse: () => ({}),
  async execute(context) {
    assertOwner(context)
    const { roles } = context.policy
    const own = [...roles].filter(([name]) => !Object.hasOwn(BUILT_IN_ROLES, name))
    return {
      roles: own.map(([name, { statements }]) => ({ name, statements })),
      builtIn: Object.keys(BUILT_IN_ROLES),
      contextNames: contextNamesOf(context.policy),
    }
  },
}

/** Input of checking a draft. */
export interface CheckPolicyInput {
  /** The statements of each role that the draft changes or adds. Roles that it leaves out stay as they are; one without statements grants nothing. */
  readonly roles: PolicyDefinition
}

/** What is wrong with a draft, and what it would change. */
export interface CheckedPolicy {
  /** In the order of roles and statements. With an error, there are no changes. */
  readonly errors: readonly (PolicyPlace & { readonly message: string })[]
  /** `records` is the number of records in which the access changes, where it is exact and takes little to count. */
  readonly changes: readonly (AccessChange & { readonly records?: number })[]
  /** Statements of the draft that decide nothing. */
  readonly findings: readonly PolicyFinding[]
}

/** Checks a draft of roles against the schema, and compares it with the policy. The draft governs nothing. Needs what `readPolicy` needs. */
export const checkPolicy: Operation<CheckPolicyInput, CheckPolicyInput, CheckedPolicy> = {
  action: 'READ_POLICY',
  resourceType: 'VAULT',
  verb: 'Check policy',
  members: ['roles'],
  recorded: { roles: 'value' },
  parse: ({ roles }) => ({ roles: parseDraft(roles, 'roles') }),
  async execute(context, { roles }) {
    assertOwner(context)
    const errors: PolicyError[] = []
    const draft = withDraft(context.policy, roles, (error) => errors.push(error))
    if (errors.length > 0) return { errors: errors.map(({ problem }) => problem), changes: [], findings: [] }
    const count = counterOf(context, draft)
    const changes: (AccessChange & { readonly records?: number })[] = []
    for (const change of comparePolicies(context.policy, draft, Object.keys(roles))) {
      const records = await count(change)
      changes.push(records === undefined ? change : { ...change, records })
    }
    return { errors: [], changes, findings: findIdleStatements(draft).filter(({ role }) => Object.hasOwn(roles, role)) }
  },
}

/** Records of a table that a count may pass over: more would take longer than a person waits. */
const MAX_COUNTED = 1_000_000

/** Returns what counts the records of a change; undefined where storage cannot say it exactly, or not soon. */
function counterOf({ unit: { storage }, barrier, policy, layout, access: own }: OperationContext, draft: Policy) {
  const counts = new Map<string, Promise<number | undefined>>()
  return (change: AccessChange): Promise<number | undefined> | undefined => {
    const table = layout.tables.get(change.table)
    const filter = table === undefined || change.action === 'CREATE' ? undefined : changedRows(table, change)
    if (table === undefined || filter === undefined) return undefined
    const key = `${table.name} ${JSON.stringify(filter, (_, cell: unknown) => (typeof cell === 'bigint' ? `${cell}n` : cell))}`
    const count = counts.get(key) ?? countRows(table.physical.name, filter)
    counts.set(key, count)
    return count
  }

  /** Returns the rows in which an access changes: all, if no row decides; or those in which the side that is not refused grants it. */
  function changedRows(table: Table, { role, column, action, before, after }: AccessChange): Filter | undefined {
    if (isForAll(before) && isForAll(after)) return { kind: 'all' }
    const side = before.decision === 'DENIED' ? draft : after.decision === 'DENIED' ? policy : undefined
    const named = table.byName.get(column)
    // Each caller has another context, and so other rows.
    if (side === undefined || named === undefined || side.roles.get(role)?.contextNames.length !== 0) return undefined
    const access = accessOf(side, { roles: [role], context: { purpose: 'any' } }).table(table)
    // A count would identify the values of a column that requires a purpose to a caller without one.
    if (!access.conditionColumns.every((one) => isComparable(own.table(table), one))) return undefined
    const { filter, isExact } = toFilter(access.pushdownCondition({ action, columns: [named] }), filterCells(barrier, table))
    return isExact ? filter : undefined
  }

  async function countRows(table: string, filter: Filter): Promise<number | undefined> {
    // Ids rise, so the last one is as high as the number of records at least.
    const [last] = await storage.find(table, { kind: 'all' }, { order: 'desc', limit: 1 })
    if (last !== undefined && last.id > MAX_COUNTED) return undefined
    return countMatches(storage, table, filter)
  }
}

/** True for an access that is the same in every row. */
function isForAll({ decision, when, unless }: RoleAccess): boolean {
  return decision !== 'CONDITIONAL' && when === undefined && unless === undefined
}
