/** The legal holds of a vault, as an application places, lists and lifts them. */
import { v4 as uuid } from 'uuid'
import * as z from 'zod'
import { type Barrier, retryingBarrier } from '../barrier/barrier.ts'
import { decodeRecordIds, encodeRecordIds } from '../barrier/record-ids.ts'
import type { LiveSchema } from '../catalog/live-schema.ts'
import type { Catalog } from '../catalog/open-catalog.ts'
import { fault } from '../errors.ts'
import { recordsNotFound, requireTable } from '../execution/check-input.ts'
import type { Limits, SessionContext } from '../execution/context.ts'
import { perform } from '../execution/perform.ts'
import { holdStep } from '../operations/hold-step.ts'
import { type Caller, parseCaller, VAULT_CALLER } from '../policy/caller.ts'
import type { Storage, StorageHandle } from '../ports/storage.ts'
import type { Clock, Timer } from '../ports/time.ts'
import { type HeldThing, listHolds, removeHold, type StoredHold, storeHold } from '../retention/holds.ts'
import { changeKeys, type KeyChangePorts } from '../rotation/change-keys.ts'
import { LOCK_MS, lockTries } from '../rotation/rotate-keys.ts'
import type { Table } from '../schema/layout.ts'
import { attempt } from '../util/attempt.ts'
import { readInput } from '../util/boundary.ts'
import { at, groupBy } from '../util/lists.ts'
import { assertMembers } from '../util/options.ts'
import { nowMs } from '../util/time.ts'
import type { OutsideCalls } from './outside-calls.ts'

/** What is held: all records of a subject of the schema, those to come included; or some records of a table. */
export type HeldRecords =
  | { readonly subject: { readonly name: string; readonly id: string } }
  | { readonly table: string; readonly ids: readonly string[] }

/** A hold to place. */
export type NewHold = HeldRecords & {
  /** 1 to 1,000 characters. It is sealed, and in no event or error. */
  readonly reason: string
  /** From then on it holds nothing, in milliseconds since 1970. Default: until it is lifted. */
  readonly until?: number
}

/** A hold. Times are in milliseconds since 1970. */
export interface LegalHold {
  readonly id: string
  readonly of: HeldRecords
  readonly reason: string
  readonly placedAt: number
  /** The actor who placed it. */
  readonly placedBy: string
  readonly until?: number
  /** True if `until` has passed: it is listed until it is lifted, and holds nothing. */
  readonly hasEnded: boolean
}

/** The legal holds of a vault: records under one are neither deleted, forgotten nor swept. These methods check no policy. Source: docs/retention.md. */
export interface VaultHolds {
  /**
   * Places a hold. When it resolves, no record of it can be deleted any more, in any process. Records `PLACE_HOLD`, by the caller if one is given. Throws
   * `not_found` for a record that does not exist and an unknown table or subject, `invalid_request`, and `limit_exceeded` for too many ids.
   */
  place(hold: NewHold, caller?: Caller): Promise<{ readonly id: string }>
  /** Ends a hold. Records `LIFT_HOLD`. Throws `not_found` for an unknown id. */
  lift(id: string, caller?: Caller): Promise<void>
  /** Returns all holds, in the order they were placed. Records no event. */
  list(): Promise<readonly LegalHold[]>
}

/** The dependencies of holds. */
export interface HoldPorts extends KeyChangePorts {
  readonly storage: StorageHandle
  readonly barrier: Barrier
  readonly live: LiveSchema
  readonly limits: Limits
  readonly catalog: Catalog
  readonly clock: Clock
  readonly timer: Timer
  readonly outside: OutsideCalls
  contextOf(caller: Caller): SessionContext
}

const id = z.string().min(1).max(128)
const common = { reason: z.string().min(1).max(1000), until: z.int().positive().optional() }
const shape = z.union([
  z.strictObject({ subject: z.strictObject({ name: id, id }), ...common }),
  z.strictObject({ table: id, ids: z.array(id).min(1), ...common }),
])

export function createVaultHolds(ports: HoldPorts): VaultHolds {
  const { storage, live, outside, contextOf } = ports
  const record = (action: 'PLACE_HOLD' | 'LIFT_HOLD', hold: string, things: readonly HeldThing[], caller: Caller) => {
    const objectId = things[0]?.objectId
    const table = [...live.layout.tables.values()].find((one) => one.objectId === objectId)
    const step = holdStep(action, { table, rows: things.map(({ row }) => row) })
    return perform(contextOf(caller), step, { hold, table: table?.name ?? '' })
  }
  return {
    place: (given, by) =>
      outside.run('Placing the hold failed.', async () => {
        const caller = by === undefined ? VAULT_CALLER : parseCaller(by)
        await ports.catalog.reload(storage)
        const { table, rows, subject, ids, reason, until } = readInput(() => parseHold(ports, given))
        const now = nowMs(ports)
        if (until !== undefined && until <= now)
          throw fault('out_of_range')`until must be in the future, in milliseconds since 1970.`
        const things = rows.map((row) => ({ ...(subject !== undefined && { subject }), objectId: table.objectId, row }))
        const hold = {
          id: uuid({ random: ports.barrier.entropy.bytes(16) }),
          reason,
          placedAt: now,
          placedBy: caller.actor,
          ...(until !== undefined && { until }),
        }
        await changeHolds(
          ports,
          async (inner) => {
            await storeHold(inner, retryingBarrier(ports.barrier), things, hold)
            return 1
          },
          async (inner) => {
            // Deletions that came first have committed.
            const found = await inner.get(table.physical.name, rows)
            const absent = found.flatMap((row, index) => (row === undefined ? [index] : []))
            if (absent.length > 0) throw recordsNotFound(table, ids, absent)
          },
        )
        await record('PLACE_HOLD', hold.id, things, caller)
        return { id: hold.id }
      }),
    lift: (given, by) =>
      outside.run('Lifting the hold failed.', async () => {
        const caller = by === undefined ? VAULT_CALLER : parseCaller(by)
        const hold: unknown = given
        if (typeof hold !== 'string') throw fault('invalid_request')`The id of a hold must be a text.`
        let things: readonly HeldThing[] = []
        await changeHolds(ports, async (inner) => {
          things = await removeHold(inner, retryingBarrier(ports.barrier), hold)
          if (things.length === 0) throw fault('not_found')`No hold has this id. vault.holds.list() lists them.`
          return -1
        })
        await record('LIFT_HOLD', hold, things, caller)
      }),
    list: () =>
      outside.run('Listing the holds failed.', async () => {
        await ports.catalog.reload(storage)
        const all = await listHolds(storage, ports.barrier)
        const now = nowMs(ports)
        return [...groupBy(all, ({ hold }) => hold.id)]
          .map(([, parts]) =>
            listed(
              ports,
              at(parts, 0).hold,
              parts.map(({ thing }) => thing),
              now,
            ),
          )
          .sort((left, right) => left.placedAt - right.placedAt)
      }),
  }
}

/**
 * Changes the holds as one change of the catalog: `work` stores, and returns by how much their number changes. Writers compare the catalog before they
 * commit, so no deletion that did not know of a hold commits after it. `check` runs when all earlier ones have ended.
 */
async function changeHolds(
  ports: HoldPorts,
  work: (inner: Storage) => Promise<number>,
  check?: (inner: Storage) => Promise<void>,
): Promise<void> {
  const { storage, catalog, live, timer } = ports
  const wait = (milliseconds: number) => new Promise<void>((wake) => void timer.after(milliseconds, wake, true))
  const tables = [...live.layout.tables.values()].map(({ physical }) => physical.name)
  await changeKeys(ports, catalog, () =>
    attempt([lockTries({ wait }, 'it')], () =>
      storage.transaction(async (inner) => {
        await inner.lock({ kind: 'tables', tables, waitMs: LOCK_MS })
        const { state: from } = catalog
        const by = await work(inner)
        await catalog.store(inner, { from, holds: from.holds + by, waitMs: LOCK_MS })
        await check?.(inner)
      }),
    ),
  )
}

/** A hold to place, checked. */
interface ParsedHold extends Pick<StoredHold, 'reason' | 'until'> {
  readonly table: Table
  readonly rows: readonly number[]
  /** The ids of the rows, in order. */
  readonly ids: readonly string[]
  readonly subject?: string | undefined
}

function parseHold({ barrier, live, limits }: HoldPorts, given: unknown): ParsedHold {
  assertMembers(given, ['subject', 'table', 'ids', 'reason', 'until'], { of: 'holds.place' })
  const parsed = shape.safeParse(given)
  if (!parsed.success)
    throw fault(
      'invalid_request',
    )`A hold has subject with name and id, or table and ids; a reason of 1 to 1,000 characters; and optionally until, in milliseconds since 1970.`
  const { reason, until, ...of } = parsed.data
  const ids = 'ids' in of ? [...new Set(of.ids)] : [of.subject.id]
  if (ids.length > limits.maxRecords) throw fault('limit_exceeded')`A hold can be of ${limits.maxRecords} records. Place several.`
  const subject = 'ids' in of ? undefined : of.subject.name
  const definition = subject === undefined ? undefined : live.layout.rules.subjects?.[subject]
  if (subject !== undefined && definition === undefined) throw fault('not_found')`The schema has no such subject.`
  const table = requireTable(live, 'ids' in of ? of.table : definition?.table)
  const decoded = decodeRecordIds(barrier.ring, table, ids)
  const rows = decoded.filter((row) => row !== undefined)
  const absent = decoded.flatMap((row, index) => (row === undefined ? [index] : []))
  if (absent.length > 0) throw recordsNotFound(table, ids, absent)
  return { table, rows, ids, subject, reason, ...(until !== undefined && { until }) }
}

function listed({ barrier, live }: HoldPorts, hold: StoredHold, things: readonly HeldThing[], now: number): LegalHold {
  const { subject, objectId } = at(things, 0)
  const table = [...live.layout.tables.values()].find((one) => one.objectId === objectId)
  const ids = encodeRecordIds(
    barrier.ring,
    { objectId },
    things.map(({ row }) => row),
  )
  const of = subject === undefined ? { table: table?.name ?? '', ids } : { subject: { name: subject, id: at(ids, 0) } }
  return { ...hold, of, hasEnded: hold.until !== undefined && hold.until <= now }
}
