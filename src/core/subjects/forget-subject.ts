/** Forget: deletes all records of a subject with their tokens, transient values and files, in one transaction, and stores a receipt of it. */
import type { Receipt } from '../audit/receipt.ts'
import { digestItems } from '../barrier/digest-values.ts'
import { encodeChangeIds } from '../barrier/record-ids.ts'
import { fault } from '../errors.ts'
import { recordsNotFound } from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import type { Operation } from '../execution/operation.ts'
import { fileIdsOf, removeContents } from '../file-store/remove-files.ts'
import { createPace } from '../pace/pace.ts'
import type { Storage } from '../ports/storage.ts'
import { deleteRows } from '../records/record-store.ts'
import type { Table } from '../schema/layout.ts'
import { destroyKeys, findKeyRows } from '../subject-keys/key-rows.ts'
import { toHex, toUtf8 } from '../util/bytes.ts'
import { append } from '../util/lists.ts'
import { toSlab } from '../util/memory.ts'
import { nowMs, toTimestamp } from '../util/time.ts'
import { countsOf, type FoundRows, findRows } from './find-rows.ts'
import {
  type LocatedSubject,
  locateSubject,
  parseSubject,
  SUBJECT_OPERATION,
  type SubjectInput,
  type SubjectRequest,
} from './find-subject.ts'
import { insertForgotten, newestReceipt } from './forgotten-rows.ts'

/** Input of forgetting a subject. */
export interface ForgetInput extends SubjectInput {
  readonly reason: string
}

/** A parsed request. */
export interface ForgetRequest extends SubjectRequest {
  readonly reason: string
}

/** The receipt, and the row that stores it. It is not stored with what is only known after the transaction. */
export interface ForgottenSubject {
  readonly receipt: Receipt
  readonly row: number
}

/** Rows that are deleted at a time. */
const SLICE = 200

/** Maximum length of a reason, in UTF-16 units. */
const MAX_REASON_LENGTH = 1000

/** Scope of the digests of subjects. Those of columns contain a slash. */
const SCOPE = 'subject'

/** What no call of the vault can reach. */
const NOT_REACHED = [
  'audit events, which name rows and callers, and no value',
  'exports, and what callers have read and kept',
  'ids and tokens that the application has stored in its own tables',
  'transient values that were tokenized without a record, until they expire',
  'backups and replicas that are older, until they are deleted',
  'free pages and logs of the database, until vault.purgeDisk',
] as const

const INDEXED =
  'keys of values in sealed indexes, until the purge that the vault begins in the background, or the end of vault.sweep or vault.compact'

const FORMER = 'keyed digests of tokens as they were before rotateLookups, until finishLookups'

/**
 * Forgets a subject. Needs DELETE on all columns of all its tables, without a condition. A subject that was forgotten before is forgotten again: what was
 * inserted for it since is deleted. Throws `not_found` for one that never was, `forbidden`, and `failed_precondition` for a record under legal hold.
 */
export const forgetSubject: Operation<ForgetInput, ForgetRequest, ForgottenSubject> = {
  ...SUBJECT_OPERATION,
  members: [...SUBJECT_OPERATION.members, 'reason'],
  recorded: { ...SUBJECT_OPERATION.recorded, reason: 'value' },
  action: 'FORGET',
  verb: 'Forget',
  parse(given, context) {
    const subject = parseSubject(given, context)
    const { reason } = given
    if (typeof reason !== 'string' || reason === '' || reason.length > MAX_REASON_LENGTH)
      throw fault('invalid_request')`reason must be a text of 1 to ${MAX_REASON_LENGTH} characters: why the subject is forgotten.`
    return { ...subject, reason }
  },
  async execute(context, request) {
    const located = locateSubject(context, request, 'DELETE')
    let eventRow: number | undefined
    const forgotten = await context.unit.change(({ storage }) => forgetWithin(storage, context, { ...located, request }), {
      takesTurns: true,
      onEvent: (row) => {
        eventRow = row
      },
    })
    const { files, row } = forgotten
    const left = await removeContents(context, files)
    const receipt = {
      ...forgotten.receipt,
      ...(eventRow !== undefined && { changeID: encodeChangeIds(context.barrier.ring, [eventRow])[0] ?? '' }),
      ...(left > 0 && { notReached: [...forgotten.receipt.notReached, contentsLeft(left)] }),
    }
    return { receipt, row }
  },
}

function contentsLeft(files: number): string {
  return `contents of ${files} files, which the blob store did not delete: vault.sweep does`
}

/** What is forgotten. */
interface Forgetting extends LocatedSubject {
  readonly request: ForgetRequest
}

/** Deletes what a transaction can, and stores the receipt with it. */
async function forgetWithin(
  storage: Storage,
  context: OperationContext,
  { plan, row, request }: Forgetting,
): Promise<ForgottenSubject & { readonly files: readonly number[] }> {
  const { barrier, audit } = context
  const tables = plan.tables.map(({ table }) => table)
  // Writers of these tables end first, and what they stored is found. Later ones wait: what they store is no record that was left.
  await storage.lock({ kind: 'tables', tables: tables.map(({ physical }) => physical.name) })
  const found = await findRows(storage, context, { plan, row, withForgotten: true })
  const subject = { tableId: plan.root.objectId, rowId: row }
  const previous = await newestReceipt(storage, { keys: barrier, hash: audit.hash }, subject)
  const hasKey = plan.root.owner?.isSubject === true && (await findKeyRows(storage, plan.root, [row])).length > 0
  const isUnknown = previous === undefined && !hasKey && [...found.values()].every(({ size }) => size === 0)
  if (isUnknown) throw recordsNotFound(plan.root, [request.id], [0])
  const files = await deleteFound(storage, context, found)
  if (hasKey) await destroyKeys(storage, plan.root, [row])
  const receipt: Receipt = {
    v: 1,
    vaultID: audit.vaultID,
    kind: plan.kind,
    subject: digestSubject(context, plan.root, row),
    reason: request.reason,
    at: toTimestamp(context.clock.now()),
    tables: countsOf(found),
    files: files.length,
    ...(previous !== undefined && { previous }),
    notReached: [
      ...NOT_REACHED,
      ...(barrier.ring.lookupVersions.length > 1 ? [FORMER] : []),
      ...(tables.some(({ indexed }) => indexed.length > 0) ? [INDEXED] : []),
    ],
  }
  const stored = await insertForgotten(storage, barrier, nowMs(context), { ...subject, receipt })
  return { receipt, row: stored, files }
}

/** Deletes the rows, those of the subject itself last. Returns the ids of their files, whose contents are removed after the transaction. */
async function deleteFound(storage: Storage, context: OperationContext, found: FoundRows): Promise<readonly number[]> {
  const pace = createPace(context)
  const files: number[] = []
  for (const [table, all] of [...found].reverse()) {
    const ids = [...all.keys()]
    for (let start = 0; start < ids.length; start += SLICE) {
      const rows = ids.slice(start, start + SLICE)
      if (context.catalog.holdsFiles(table)) append(files, await fileIdsOf(storage, table, rows))
      await deleteRows(storage, context, { table, rows, transients: true })
      await pace.worked()
    }
  }
  return files
}

/** Returns the digest that names a subject in its receipts. */
export function digestSubject(
  { barrier }: Pick<OperationContext, 'barrier'>,
  root: Pick<Table, 'objectId'>,
  row: number,
): string {
  return toHex(digestItems(barrier.ring, SCOPE, toSlab([toUtf8(`${root.objectId}/${row}`)])))
}
