/** Seen as: records as another caller sees them, at the lower of both callers' levels, for those who can grant everything. It reads only. */
import type { SeenAs } from '../audit/event.ts'
import { fault, isVaultError, UNKNOWN_NAME } from '../errors.ts'
import { parseInteger, parseRedaction, parseTable } from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import { addShown, findRecords } from '../execution/find-records.ts'
import { assertOwner, requireAccess } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { DEFAULT_PAGE_SIZE } from '../limits.ts'
import { type Caller, type CallerContext, parseCaller } from '../policy/caller.ts'
import { createCommonAccess } from '../policy/common-access.ts'
import { contextNamesOf, type Policy } from '../policy/compile-policy.ts'
import { type Access, accessOf } from '../policy/create-access.ts'
import { parseDraft, withDraft } from '../policy/draft.ts'
import { describeKnown, type KnownTable } from '../policy/known-schema.ts'
import type { PolicyDefinition } from '../policy/statement.ts'
import { isComparable, type TableAccess } from '../policy/table-access.ts'
import { showRecords, type UntypedRecord } from '../records/show-records.ts'
import { NONE_LOWERED, REDACTIONS, type Redaction } from '../redaction.ts'
import { evaluateAccessInSlices, type FoundRows } from '../row-access/evaluate-access.ts'
import type { Table } from '../schema/layout.ts'
import { at } from '../util/lists.ts'

/** Input of a preview. */
export interface PreviewAccessInput {
  /** Roles of the other caller. */
  readonly roles: readonly string[]
  /** Attributes of the other caller, as policies read them. Events record them: they must name no person. */
  readonly context?: CallerContext
  /** Purpose of the other caller. Default: none. */
  readonly purpose?: string
  /** Table whose records are shown. Default: none. */
  readonly table?: string
  /** The `next` of the page before. */
  readonly after?: string
  /** Maximum number of records, 1 to 100. Default 25. */
  readonly limit?: number
  /** The level that both ask for. Default DEFAULT: each column's own. */
  readonly redaction?: Redaction
  /** Roles of a draft, by which the records are shown too. It governs nothing else. */
  readonly draft?: PolicyDefinition
}

/** A record as a caller sees it. Without a field, they do not see the record. */
export type SeenRecord = Required<Pick<UntypedRecord, 'fields' | 'levels'>>

/** A record as each of both callers sees it. */
export interface PreviewedRecord {
  readonly id: string
  readonly yours: SeenRecord
  /** At the lower of both callers' levels. */
  readonly theirs: SeenRecord
  /** The same, with the roles of the draft. Absent without one. */
  readonly draft?: SeenRecord
}

/** What another caller can do, and a page of the records of a table as both see them. */
export interface PreviewedAccess {
  /** What the other caller can do with the tables and columns that they know, as `describeSchema` returns them. */
  readonly tables: readonly KnownTable[]
  /** The same, with the roles of the draft. Absent without one. */
  readonly draftTables?: readonly KnownTable[]
  readonly records: readonly PreviewedRecord[]
  readonly next?: string
}

export interface PreviewRequest {
  readonly other: Pick<Caller, 'roles' | 'context'>
  readonly table: Table | undefined
  readonly after: string | undefined
  readonly limit: number
  readonly redaction: Redaction
  readonly draft: PolicyDefinition | undefined
}

/** Records of a page at most. */
const MAX_LIMIT = 100

/**
 * Shows records as a caller with other roles sees them, beside what the caller sees. Needs ALL ON * in plain text and no DENY: such a caller can
 * create a credential with these roles anyway. Throws `forbidden`, `invalid_request`, `not_found`.
 */
export const previewAccess: Operation<PreviewAccessInput, PreviewRequest, PreviewedAccess> = {
  action: 'GET',
  resourceType: 'RECORD',
  verb: 'Preview',
  members: ['roles', 'context', 'purpose', 'table', 'after', 'limit', 'redaction', 'draft'],
  // Of whom the caller looks as, the event has `seenAs`.
  recorded: {
    roles: 'omitted',
    context: 'omitted',
    purpose: 'value',
    table: 'name',
    after: 'value',
    limit: 'number',
    redaction: REDACTIONS,
    draft: 'value',
  },
  parse({ roles, context, purpose, table: name, after, limit = DEFAULT_PAGE_SIZE, redaction, draft }, parsing) {
    const table = name === undefined ? undefined : parseTable(parsing, name)
    if (after !== undefined && typeof after !== 'string')
      throw fault('invalid_request')`after must be a cursor: the next of an earlier page.`
    return {
      other: parseOther(roles, context, purpose),
      table,
      after,
      limit: parseInteger(limit, 'limit', [1, MAX_LIMIT]),
      redaction: parseRedaction(redaction),
      draft: draft === undefined ? undefined : parseDraft(draft, 'draft'),
    }
  },
  async execute(context, { other, table, draft, ...page }) {
    const { policy, event } = context
    // Of a refused caller, who can send any text, no attribute is recorded.
    event.setSeenAs(seenAsBy(policy, { roles: other.roles }))
    assertOwner(context)
    event.setSeenAs(seenAsBy(policy, other))
    const draftPolicy = draft === undefined ? undefined : policyWith(policy, draft)
    if (draftPolicy !== undefined) event.setSeenAs(seenAsBy(draftPolicy, other))
    const schema = context.readSchema()
    const tables = {
      tables: describeKnown(policy, other, schema),
      ...(draftPolicy === undefined ? {} : { draftTables: describeKnown(draftPolicy, other, schema) }),
    }
    if (table === undefined) return { ...tables, records: [] }
    const drafted = draftPolicy === undefined ? undefined : accessOf(draftPolicy, other)
    return { ...tables, ...(await showPage(context, { ...page, table, seen: accessOf(policy, other), drafted })) }
  },
}

/** Returns the other caller. Their names are those of a policy, so an error does not repeat them. */
function parseOther(roles: unknown, context: unknown, purpose: unknown): PreviewRequest['other'] {
  try {
    return parseCaller({ actor: 'other', actorType: 'USER', roles, context, purpose })
  } catch (error) {
    if (!isVaultError(error)) throw error
    throw fault('invalid_request')`roles, context or purpose is invalid. Each must be as vault.as takes it.`
  }
}

/** Returns the policy with the draft. Its texts can be anything, and events keep messages, so the error repeats none. */
function policyWith(policy: Policy, draft: PolicyDefinition): Policy {
  try {
    return withDraft(policy, draft)
  } catch (error) {
    if (!isVaultError(error)) throw error
    throw fault('invalid_request')`The draft is invalid. checkPolicy returns its errors.`
  }
}

/** Returns as whom the caller looks: roles and attributes that the policy has. Others decide nothing, and can be any text. */
function seenAsBy(policy: Policy, { roles, context = {} }: PreviewRequest['other']): SeenAs {
  const names = contextNamesOf(policy)
  const used = Object.entries(context).filter(([name]) => name === 'purpose' || names.includes(name.toLowerCase()))
  return {
    roles: roles.map((role) => (policy.roles.has(role) ? role : UNKNOWN_NAME)),
    context: JSON.stringify(Object.fromEntries(used)),
  }
}

/** A page to show, and the accesses of the other caller. */
interface PageSeen extends Pick<PreviewRequest, 'after' | 'limit' | 'redaction'> {
  readonly table: Table
  readonly seen: Access
  readonly drafted: Access | undefined
}

async function showPage(
  context: OperationContext,
  { table, seen, drafted, after, limit, redaction }: PageSeen,
): Promise<Pick<PreviewedAccess, 'records' | 'next'>> {
  const own = requireAccess(context, table, 'READ')
  for (const access of [seen, drafted]) if (access !== undefined) assertComparable(own, access.table(table))
  const which = { page: { order: 'asc', limit }, lookup: undefined, after, isResumable: false, signal: undefined } as const
  const found = await findRecords(context, own, which)
  const show = { table, columns: table.readable, redaction, asTokens: false }
  addShown(context.event, show, found.rows)
  const showFor = async (access: Access) => showRecords(context, await commonRows(context, found, access.table(table)), show)
  const yours = await showRecords(context, found, show)
  const theirs = await showFor(seen)
  const draft = drafted === undefined ? undefined : await showFor(drafted)
  const records = found.ids.map((id, index) => ({
    id,
    yours: seenRecord(at(yours, index)),
    theirs: seenRecord(at(theirs, index)),
    ...(draft === undefined ? {} : { draft: seenRecord(at(draft, index)) }),
  }))
  return found.next === undefined ? { records } : { records, next: found.next }
}

/** Throws `unprocessable` if conditions of another one compare what the caller is not shown: which records they let through would identify its values. */
function assertComparable(own: TableAccess, { table, conditionColumns }: TableAccess): void {
  const column = conditionColumns.find((one) => !isComparable(own, one))
  if (column === undefined) return
  throw fault('unprocessable', {
    table: table.name,
    column: column.name,
  })`A condition compares column ${column.name} of table ${table.name}, which requires a purpose. State one.`
}

/** Returns the rows with what the caller who found them and another one have in common in each. */
async function commonRows(
  context: OperationContext,
  { rows, ids }: FoundRows,
  access: ReturnType<Access['table']>,
): Promise<FoundRows> {
  const common = createCommonAccess(access.table)
  const stored = rows.map(({ row }) => row)
  const others = await evaluateAccessInSlices(context, access, stored)
  return { rows: rows.map(({ row, access: own }, index) => ({ row, access: common(own, at(others, index).access) })), ids }
}

function seenRecord({ fields, levels = NONE_LOWERED }: UntypedRecord): SeenRecord {
  return { fields, levels }
}
