/** Find subject: how many records of each table are one person's. */
import { decodeRecordIds } from '../barrier/record-ids.ts'
import { fault } from '../errors.ts'
import { recordsNotFound, toIds } from '../execution/check-input.ts'
import type { OperationContext, ParsingContext } from '../execution/context.ts'
import type { Operation } from '../execution/operation.ts'
import { at } from '../util/lists.ts'
import { countsOf, type FoundRows, findRows } from './find-rows.ts'
import { assertWholeAccess, planSubject, type SubjectPlan } from './subject-plan.ts'

/** A subject: its kind, by its name in the schema, and the id of its record. */
export interface SubjectInput {
  readonly kind: string
  readonly id: string
}

/** A parsed request, before the schema and grants are checked. */
export interface SubjectRequest {
  readonly kind: unknown
  readonly id: string
}

/** Records of a subject by table. */
export interface SubjectCounts {
  readonly tables: Readonly<Record<string, number>>
}

/** What the operations on a subject have in common. */
export const SUBJECT_OPERATION = {
  resourceType: 'VAULT',
  members: ['kind', 'id'],
  recorded: { kind: 'name', id: 'value' },
} as const

export function parseSubject(
  { kind, id }: { readonly kind?: unknown; readonly id?: unknown },
  { event, layout }: ParsingContext,
): SubjectRequest {
  if (typeof id !== 'string') throw fault('invalid_request')`The id of a subject must be the id of its record.`
  const subject = typeof kind === 'string' ? layout.rules.subjects?.[kind] : undefined
  const table = subject === undefined ? undefined : layout.tables.get(subject.table)
  if (table !== undefined) event.setTable(table)
  return { kind, id: at(toIds([id]), 0) }
}

/** A subject, and the row of its record, which need not exist any more. */
export interface LocatedSubject {
  readonly plan: SubjectPlan
  readonly row: number
}

/** Returns the subject of a request. Throws `not_found` for another kind and for an id of no such record, and `forbidden` unless the caller has all of it. */
export function locateSubject(
  context: OperationContext,
  { kind, id }: SubjectRequest,
  action: 'READ' | 'DELETE',
): LocatedSubject {
  const plan = planSubject(context, kind)
  assertWholeAccess(context, plan, action)
  const [row] = decodeRecordIds(context.barrier.ring, plan.root, [id])
  if (row === undefined) throw recordsNotFound(plan.root, [id], [0])
  context.event.addRows(plan.root, [row])
  return { plan, row }
}

/** Returns the rows of a subject that exists. Throws `not_found`. */
export async function findExisting(context: OperationContext, located: LocatedSubject, id: string): Promise<FoundRows> {
  const { plan } = located
  const found = await findRows(context.unit.storage, context, located)
  if (found.get(plan.root)?.size === 0) throw recordsNotFound(plan.root, [id], [0])
  return found
}

/** Counts the records of a subject. Needs READ on all columns of all its tables, without a condition. Throws `not_found` and `forbidden`. */
export const findSubject: Operation<SubjectInput, SubjectRequest, SubjectCounts> = {
  ...SUBJECT_OPERATION,
  action: 'FIND_SUBJECT',
  verb: 'Find subject',
  parse: parseSubject,
  async execute(context, request) {
    const located = locateSubject(context, request, 'READ')
    return { tables: countsOf(await findExisting(context, located, request.id)) }
  },
}
