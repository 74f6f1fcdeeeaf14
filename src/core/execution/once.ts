/** Performs a write once for each idempotency key: the key commits with what is written, and a repeat is given the result of the first time. */
import { OUTDATED } from '../barrier/barrier.ts'
import { entriesIn, newEntryRow } from '../credentials/entry-rows.ts'
import { fault } from '../errors.ts'
import { removeFilesOfDeleted } from '../file-store/remove-files.ts'
import type { NewRow, StorageReads } from '../ports/storage.ts'
import { CREDENTIALS } from '../schema/system-tables.ts'
import { savepointUnit, type UnitOfWork, unitWith } from '../unit-of-work/unit-of-work.ts'
import { toUtf8 } from '../util/bytes.ts'
import { toSlab } from '../util/memory.ts'
import { toBase64Url } from '../util/text.ts'
import { nowMs } from '../util/time.ts'
import type { OperationContext } from './context.ts'
import type { OnceRules, Operation } from './operation.ts'

/** How an operation is performed. */
export interface PerformOptions {
  /**
   * Of a write: performed again by the same actor with the same key and input, it writes nothing, and returns the result of the first time, also if that
   * is still running, in whatever process. With another input it is a `conflict`. 1 to 255 visible ASCII characters, such as a UUID. It is kept for 24
   * hours at least, until `vault.sweep`. A read takes none: it is read again. Default: the write is performed each time.
   */
  readonly idempotencyKey?: string
}

/** Milliseconds for which a key is kept at least: a queue can deliver a job again after hours. */
const KEPT_MS = 24 * 60 * 60_000

/** A request that is performed once. */
export interface OnceRequest {
  /** The digest of the caller and the key. */
  readonly name: string
  /** The digest of all that a repeat must have in common. */
  readonly digest: string
}

/** What the row of a key holds: see `rowOf`. */
interface KeptWrite {
  readonly digest: string
  readonly result: unknown
}

/**
 * Returns the request of a key. Its name has the actor, so that no caller gets the result of another one. Roles and context belong to what must be the
 * same, because a policy decides by them. The content of a file does not: a repeat is answered before it is read. Neither does the signal of a caller
 * who stops waiting. Throws `invalid_request`.
 */
export function parseOnce(
  { caller, audit: { hash } }: OperationContext,
  { action }: Pick<Operation<never, never, never>, 'action'>,
  given: object,
  idempotencyKey: unknown,
): OnceRequest {
  if (typeof idempotencyKey !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(idempotencyKey))
    throw fault('invalid_request')`idempotencyKey must have 1 to 255 visible ASCII characters.`
  const input: Readonly<Record<string, unknown>> = { ...given }
  if (typeof input.id === 'function')
    throw fault('invalid_request')`An upload with an idempotency key needs the id of its record before the content, or none.`
  const { file: _, options, ...others } = input
  const compared = { ...others, options: withoutSignal(options) }
  const digestOf = (parts: readonly unknown[]): string => {
    const text = JSON.stringify(parts, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
    return toBase64Url(hash.sha256(toSlab([toUtf8(text)])))
  }
  return {
    name: digestOf([caller.actorType, caller.actor, idempotencyKey]),
    digest: digestOf([action, [...caller.roles].sort(), caller.context ?? null, compared]),
  }
}

function withoutSignal(options: unknown): unknown {
  if (typeof options !== 'object' || options === null) return options
  const { signal: _, ...others }: Readonly<Record<string, unknown>> = { ...options }
  return others
}

/**
 * Runs a write whose key is new, or returns the result that is kept with it. Most keys are new, so the write runs at once: that of a repeat is rolled
 * back by the unique index of keys, in whatever process the first one ran. Any other error can have the first one as its reason too, such as a record
 * that it deleted, or a COMMIT whose answer was lost.
 */
export async function executeOnce<Request, Result>(
  context: OperationContext,
  { execute, once = {} }: Pick<Operation<never, Request, Result>, 'execute' | 'once'>,
  request: Request,
  write: OnceRequest,
): Promise<Result> {
  const before = once.isFoundFirst === true ? await findKept(context, write) : undefined
  if (before !== undefined) return restore(context, { once, request, write }, before)
  try {
    return await (once.isNoted?.(request) === true ? noting : within)(context, { execute, once, request, write })
  } catch (error) {
    if (OUTDATED.is(error)) throw error
    const kept = await findKept(context, write).catch((unread: unknown) => {
      throw OUTDATED.is(unread) ? unread : error
    })
    if (kept === undefined) throw error
    return restore(context, { once, request, write }, kept)
  }
}

/** A write that runs for the first time. */
interface FirstTime<Request, Result> {
  execute(context: OperationContext, request: Request): Promise<Result>
  readonly once: OnceRules<Request, Result>
  readonly request: Request
  readonly write: OnceRequest
}

/** Runs a write in a transaction that ends with the row of its key. Contents of files are removed after it. */
async function within<Request, Result>(
  context: OperationContext,
  { execute, once, request, write }: FirstTime<Request, Result>,
): Promise<Result> {
  const files = { ...context.files, isInTransaction: true }
  const result = await context.unit.change(
    async ({ storage }) => {
      const result = await execute({ ...context, files, unit: savepointUnit(storage) }, request)
      await storage.insert(CREDENTIALS.name, [
        await rowOf(context, storage, write, once.keep === undefined ? result : once.keep(result, request)),
      ])
      return result
    },
    { takesTurns: true },
  )
  if (once.removesFiles === true) await removeFilesOfDeleted(context, [...context.layout.tables.values()])
  return result
}

/** Runs a write that notes its result before it hands over what is stored: the row of its key goes with it, so that small inserts still share a commit. */
function noting<Request, Result>(
  context: OperationContext,
  { execute, request, write }: FirstTime<Request, Result>,
): Promise<Result> {
  let noted: object | undefined
  const note = (kept: object): void => {
    noted = kept
  }
  const unit = withRow(context.unit, (storage) => rowOf(context, storage, write, noted))
  return execute({ ...context, note, unit }, request)
}

/** Returns a unit whose change stores one row more. An insert hands it over with its own rows, and needs no transaction. */
function withRow(unit: UnitOfWork, row: (storage: StorageReads) => Promise<NewRow>): UnitOfWork {
  return {
    ...unitWith(unit, async (storage) => storage.insert(CREDENTIALS.name, [await row(storage)])),
    insert: async (batches) => unit.insert([...batches, { table: CREDENTIALS.name, rows: [await row(unit.storage)] }]),
  }
}

/**
 * Returns the row of a key: beside the digests, the result. Ids alone would be less, but not enough: tokens and times are those of the write, and a later
 * one replaces them. What would outlive a deletion is not kept, such as the values that a batch reads: these are read again. It is sealed, and purged
 * with expired credentials.
 */
function rowOf(
  { barrier, clock }: OperationContext,
  storage: StorageReads,
  { name, digest }: OnceRequest,
  result: unknown,
): Promise<NewRow> {
  const content: KeptWrite = { digest, result }
  return newEntryRow(storage, barrier, { kind: 'write', name, expiresAt: nowMs({ clock }) + KEPT_MS, content })
}

/** Returns what is kept with a key; undefined for a new one. */
async function findKept({ barrier, unit }: OperationContext, { name }: OnceRequest): Promise<KeptWrite | undefined> {
  const [found] = await entriesIn(unit.storage, barrier, true)([{ kind: 'write', name }])
  // It was authenticated with its kind, so it is what `rowOf` wrote.
  return found?.entry.content as KeptWrite | undefined
}

/** Returns the result of a repeat. Throws `conflict` for another request. */
function restore<Request, Result>(
  context: OperationContext,
  { once, request, write }: Omit<FirstTime<Request, Result>, 'execute'>,
  { digest, result }: KeptWrite,
): Promise<Result> | Result {
  if (digest !== write.digest)
    throw fault('conflict')`The idempotency key was used for another request. Use a new key for each write.`
  context.event.setRepeated()
  // It was authenticated, so it is the JSON of what the operation returned.
  return once.restore === undefined ? (result as Result) : once.restore(context, request, result)
}
