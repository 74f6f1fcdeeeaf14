/** The switch: under a short lock the last notes are drained, and from then on the vault is the truth. */
import { setTimeout as pause } from 'node:timers/promises'
import { VaultError } from '../core/errors.ts'
import { assertNotAborted, type Signal } from '../core/util/signal.ts'
import { retryConflicts } from './conflicts.ts'
import { deleteMapped, drainNotes } from './drain.ts'
import { type Connection, countOf } from './engine.ts'
import { mappedFrom } from './host-rows.ts'
import { type Adopting, enterState } from './job.ts'
import { isBusy, type Slice, sliceOf } from './slices.ts'
import { sameKey } from './sql-text.ts'

/** Options of the switch. */
export interface SwitchOptions {
  /** Seconds without a change by old instances that must have passed. Default 0: at once, and what still writes plaintext is refused. */
  readonly quietSeconds?: number
  /** Switch although rows are refused: they keep their plaintext in the table, and have no record. Default false. */
  readonly leaveRefused?: boolean
  readonly signal?: Signal
}

/** What the switch took. */
export interface SwitchResult {
  /** Milliseconds for which writers were held off. */
  readonly lockMs: number
  /** Times that the lock was tried. */
  readonly tries: number
}

const MAX_TRIES = 200
/** Walks for records without a row, before the switch gives up. */
const MAX_UNEQUAL = 5

/**
 * Switches as soon as the lock is free, and throws `aborted` if it never is. `prepare` drains while writers go on, and `findMissing` notes the
 * records whose rows went away without a note.
 */
export async function switchOver(
  adopting: Adopting,
  { quietSeconds = 0, leaveRefused = false, signal }: SwitchOptions,
  steps: { prepare(): Promise<void>; findMissing(): Promise<void> },
): Promise<SwitchResult> {
  let unequal = 0
  for (let tries = 1; ; tries++) {
    assertNotAborted(signal)
    await steps.prepare()
    let locked = 0
    try {
      const isEqual = await adopting.engine.transaction(async (connection) => {
        const slice = await sliceOf(adopting, connection, adopting.maxRows)
        if (slice.job.state === 'switched') return true
        assertReady(adopting, slice, quietSeconds)
        await adopting.engine.lock(connection, adopting.table)
        locked = performance.now()
        return switchLocked(adopting, slice, leaveRefused)
      })
      if (isEqual) return { lockMs: performance.now() - locked, tries }
      if (++unequal > MAX_UNEQUAL)
        throw new VaultError(
          'failed_precondition',
          `${adopting.table.name}: rows and records differ in number. Run verify again.`,
        )
      await steps.findMissing()
    } catch (error) {
      if (!isBusy(error)) throw error
      if (tries >= MAX_TRIES) throw new VaultError('aborted', `${error.message} ${await holders(adopting)}`)
      await pause(50 + Math.random() * 150)
    }
  }
}

function assertReady({ table }: Adopting, { job }: Slice, quietSeconds: number): void {
  if (job.state !== 'overlap')
    throw new VaultError(
      'failed_precondition',
      `${table.name} is in the state ${job.state}: only one that is verified can be switched.`,
    )
  if (job.quietSeconds < quietSeconds)
    throw new VaultError(
      'failed_precondition',
      `Old instances changed ${table.name} ${job.quietSeconds} seconds ago. Switch when it was quiet for ${quietSeconds}.`,
    )
}

/** Returns false if rows and records differ in number: then nothing is changed. */
async function switchLocked(adopting: Adopting, { connection, session }: Slice, leaveRefused: boolean): Promise<boolean> {
  const { engine, table } = adopting
  let conflicts = Number.POSITIVE_INFINITY
  for (;;) {
    if ((await drainNotes(adopting, connection, { session, limit: adopting.maxRows, isHostTruth: true })) > 0) continue
    conflicts = await retryConflicts(adopting, { connection, session }, conflicts)
    if (conflicts === 0) break
  }
  const refused = await countOf(connection, table.refused)
  if (refused > 0 && !leaveRefused)
    throw new VaultError(
      'failed_precondition',
      `${table.name} has ${refused} rows that the vault refuses (status lists their keys). Correct them, or leave them with their plaintext.`,
    )
  if (refused > 0) await leaveRows(adopting, { connection, session })
  if (engine.kind === 'sqlite' && !(await isSameNumber(adopting, connection))) return false
  await connection.script(engine.guard(table))
  await enterState(adopting, connection, 'switched')
  return true
}

/** Deletes the records of refused rows: they are older than their rows, which stay the truth. */
async function leaveRows(adopting: Adopting, { connection, session }: Pick<Slice, 'connection' | 'session'>): Promise<void> {
  const { table } = adopting
  const from = `${table.refused} r join ${table.map} m on ${sameKey(table, 'm', 'r')}`
  await deleteMapped(adopting, connection, session, await mappedFrom(adopting, connection, from))
}

/** A row that REPLACE removed leaves no note, but one record too many. */
async function isSameNumber(adopting: Adopting, connection: Connection): Promise<boolean> {
  const { table } = adopting
  const [row] = await connection.all(
    `select (select count(*) from ${table.quoted}) - (select count(*) from ${table.map})
      - (select count(*) from ${table.refused} r where not exists (select 1 from ${table.map} m where ${sameKey(table, 'm', 'r')}))`,
  )
  return Number(row?.[0]) === 0
}

/** Says who holds the table, so that the operator finds the transaction. */
async function holders({ engine, table }: Adopting): Promise<string> {
  if (engine.kind === 'sqlite') return ''
  const rows = await engine.transaction((connection) =>
    connection.all(
      `select a.pid, a.application_name, round(extract(epoch from clock_timestamp() - a.xact_start)) from pg_locks l join pg_stat_activity a using (pid)
       where l.relation = ?::regclass and a.pid <> pg_backend_pid() and a.xact_start is not null limit 5`,
      [table.quoted],
    ),
  )
  return `It is held by ${rows.map(([pid, name, seconds]) => `process ${pid} (${name}, for ${seconds} s)`).join(', ') || 'others'}.`
}
