/** A table that is being adopted: its steps, each of which goes on where the last one, or another process, has stopped. */
import { setTimeout as pause } from 'node:timers/promises'
import { isVaultError, VaultError } from '../core/errors.ts'
import { guardAround, type RunCallback } from '../core/util/boundary.ts'
import { assertOptions } from '../core/util/options.ts'
import type { Signal } from '../core/util/signal.ts'
import type { Schema } from '../index.ts'
import { type AdoptedRows, adoptedRows } from './adopted-rows.ts'
import { backfill, capture } from './backfill.ts'
import { retryConflicts } from './conflicts.ts'
import { drainNotes, noteKeys } from './drain.ts'
import { countOf } from './engine.ts'
import { mapBehind } from './host-rows.ts'
import { type Adopting, type AdoptState, enterState, OF_HOST, readJob, WITHOUT_RECORDS } from './job.ts'
import { makePlan, type Plan, type PlanOptions } from './plan.ts'
import { createSlices, type Slice, type Slices } from './slices.ts'
import { keyNames, toJson } from './sql-text.ts'
import { type SwitchOptions, type SwitchResult, switchOver } from './switch-over.ts'
import { recordsWithoutRow, verify } from './verify.ts'
import { clear, dropColumns, enterLocked, finish, restore, undo } from './write-back.ts'

/** Options of slow steps. */
export interface AdoptWatch {
  readonly signal?: Signal
  /** Called after each slice, and awaited. */
  readonly onProgress?: (progress: AdoptProgress) => unknown
}

/** How far a walk is. */
export interface AdoptProgress {
  readonly state: AdoptState
  readonly done: number
  /** As counted when it began. */
  readonly total: number
}

/** Options of `finish`. */
export interface FinishOptions extends AdoptWatch {
  /** What becomes of plaintext: NULL, or the token of the value, which keeps NOT NULL and uniqueness. Default 'null'. */
  readonly plaintext?: 'null' | 'token'
  /** Rewrites the file or the table, so that its free space keeps no plaintext. On PostgreSQL it locks the table meanwhile. Default false. */
  readonly clean?: boolean
  /** Drops the columns. There is no way back then. Default false. */
  readonly dropColumns?: boolean
}

/** How far a table is, and what waits. */
export interface AdoptStatus extends AdoptProgress {
  /** Changes that are not in the vault yet, and the age of the oldest. */
  readonly notes: number
  readonly lagSeconds: number
  /** Seconds since old instances changed a row. */
  readonly quietSeconds: number
  /** Rows that the vault refuses: how many, and the first 100 of them. */
  readonly refusedCount: number
  readonly refused: readonly { readonly key: string; readonly column: string | null; readonly code: string }[]
}

/** A table that is adopted. Every step goes on where the last one, or another process, has stopped. */
export interface Adoption {
  /** Reads every row, and says what would be refused. Changes nothing. */
  plan(options?: PlanOptions): Promise<Plan>
  /** Creates the triggers. Throws `aborted` if the table is never free for them. */
  capture(watch?: AdoptWatch): Promise<void>
  /** Goes as far as it can without a decision: to `overlap`, in which all rows are in the vault and follow the host's. Then drains what is noted. */
  run(watch?: AdoptWatch): Promise<AdoptStatus>
  /** Drains what is noted until the signal is aborted, every second: while old and new instances write. */
  overlap(watch: AdoptWatch & { readonly signal: Signal }): Promise<void>
  /** Makes the vault the truth, under a short lock. New plaintext is refused from then on. Throws `failed_precondition` while rows are refused. */
  switchOver(options?: SwitchOptions): Promise<SwitchResult>
  /** Removes the plaintext. Returns where it still is, as far as it is known. */
  finish(options?: FinishOptions): Promise<{ readonly residue: readonly string[] }>
  /** Undoes all of it, from every state before columns are dropped: values of the vault are written back, and its records deleted. */
  back(watch?: AdoptWatch): Promise<void>
  status(): Promise<AdoptStatus>
  /** Returns the rows of the table in a transaction that the application has begun: for its new version, in every state. */
  within(hostTransaction: unknown): Promise<AdoptedRows>
}

const WATCHED = ['signal', 'onProgress'] as const
/** The options of each step. */
const OPTIONS = {
  capture: WATCHED,
  run: WATCHED,
  overlap: WATCHED,
  back: WATCHED,
  switchOver: ['quietSeconds', 'leaveRefused', 'signal'],
  finish: [...WATCHED, 'plaintext', 'clean', 'dropColumns'],
} as const
/** Rows of the list of refused ones. */
const MAX_LISTED = 100
const DRAIN_EVERY_MS = 1000
/** How often notes are counted, and how long they may become no fewer before the pauses end, and again before the work ends. */
const COUNT_EVERY_MS = 2000
const MAX_GROWING_MS = 20_000

const FROM_VAULT: readonly AdoptState[] = ['switched', 'finish', 'finished']

/** A walk: returns false at its end. */
type Walk = (adopting: Adopting, slice: Slice) => Promise<boolean>

export function createAdoption(adopting: Adopting, schema: Schema): Adoption {
  const { engine, table } = adopting
  const called = <T>(method: keyof typeof OPTIONS, options: AdoptWatch, work: (steps: Steps) => Promise<T>): Promise<T> =>
    guardAround('Adopt failed.', (run) => {
      assertOptions<FinishOptions & SwitchOptions>(options, OPTIONS[method], { of: method })
      return work(stepsOf(adopting, options, run))
    })
  return {
    plan: (options = {}) =>
      guardAround('Plan failed.', (run) => {
        assertOptions<PlanOptions>(options, WATCHED, { of: 'plan' })
        return makePlan(adopting, schema, { ...options, run })
      }),
    capture: (watch = {}) => called('capture', watch, ({ slices }) => slices.run((slice) => capture(adopting, slice))),
    run: (watch = {}) =>
      called('run', watch, async (steps) => {
        await steps.slices.run((slice) => capture(adopting, slice))
        await steps.walk(backfill, { drains: true })
        await steps.drain()
        await steps.walk(verify, { snapshot: true, drains: true })
        await steps.drain()
        return readStatus(adopting)
      }),
    overlap: (watch) =>
      called('overlap', watch, async (steps) => {
        try {
          for (;;) {
            await steps.drain()
            await pause(DRAIN_EVERY_MS)
          }
        } catch (error) {
          if (!isVaultError(error, 'cancelled')) throw error
        }
      }),
    switchOver: (options = {}) =>
      called('switchOver', options, (steps) =>
        switchOver(adopting, options, { prepare: () => steps.drain(), findMissing: () => findMissing(adopting, steps) }),
      ),
    finish: (options = {}) =>
      called('finish', options, async (steps) => {
        const { plaintext = 'null', clean = false, dropColumns: drops = false } = options
        await steps.drain()
        await steps.slices.run((slice) => beginFinish(adopting, slice, plaintext))
        await steps.walk(finish, { drains: true })
        if (drops) await steps.slices.run((slice) => dropColumns(adopting, slice))
        return { residue: await engine.clean(table, clean) }
      }),
    back: (watch = {}) =>
      called('back', watch, async (steps) => {
        await steps.drain()
        await steps.slices.run((slice) => beginBack(adopting, slice))
        await steps.walk(clear, { drains: true })
        await steps.walk(restore, { drains: true })
        await steps.walk(undo)
      }),
    status: () => guardAround('Status failed.', () => readStatus(adopting)),
    within: (hostTransaction) => guardAround('Adopted rows failed.', () => adoptedRows(adopting, hostTransaction)),
  }
}

/** What the steps of one call share. */
interface Steps {
  readonly slices: Slices
  /** Walks to the end. `drains`: notes are drained between two slices. */
  walk(step: Walk, settings?: { readonly snapshot?: boolean; readonly drains?: boolean }): Promise<void>
  /** Drains until no more notes are pending than one slice takes, and tries rows again that conflict. */
  drain(): Promise<void>
}

function stepsOf(adopting: Adopting, { signal, onProgress }: AdoptWatch, run: RunCallback): Steps {
  const slices = createSlices(adopting, signal)
  const report = ({ job }: Slice): AdoptProgress => ({ state: job.state, done: job.done, total: job.total })
  /** Returns whether more notes were pending than the slice took. */
  const drainSlice = (): Promise<boolean> =>
    slices.run(async ({ connection, session, job, size }) => {
      if (WITHOUT_RECORDS.includes(job.state)) return false
      const taken = await drainNotes(adopting, connection, { session, limit: size, isHostTruth: OF_HOST.includes(job.state) })
      if (taken > 0) slices.sawWriter()
      return taken >= size
    })
  return {
    slices,
    async walk(step, { snapshot = false, drains = false } = {}) {
      for (;;) {
        const [goesOn, progress] = await slices.run(async (slice) => [await step(adopting, slice), report(slice)] as const, {
          snapshot,
        })
        if (onProgress !== undefined) await run(async () => onProgress(progress))
        if (!goesOn) return
        // Each slice leaves as many notes as writers made meanwhile, and takes as many as it has rows.
        if (drains) await drainSlice()
      }
    },
    async drain() {
      const growth = createGrowth(adopting, slices)
      for (let conflicts = Number.POSITIVE_INFINITY; ; ) {
        while (await drainSlice()) await growth.watch()
        conflicts = await slices.run((slice) =>
          OF_HOST.includes(slice.job.state) ? retryConflicts(adopting, slice, conflicts) : Promise.resolve(0),
        )
        if (conflicts === 0) return
      }
    },
  }
}

/** Watches the number of notes: where writers note more than is drained, the pauses end, and then the work. */
function createGrowth(adopting: Adopting, slices: Slices): { watch(): Promise<void> } {
  let lowest = Number.POSITIVE_INFINITY
  let lowestAt = performance.now()
  let nextAt = lowestAt + COUNT_EVERY_MS
  return {
    async watch() {
      const now = performance.now()
      if (now < nextAt) return
      nextAt = now + COUNT_EVERY_MS
      const notes = await adopting.engine.transaction((connection) => countOf(connection, adopting.table.notes))
      if (notes < lowest) {
        lowest = notes
        lowestAt = now
      } else if (now - lowestAt > MAX_GROWING_MS) {
        if (slices.isHurried())
          throw new VaultError(
            'aborted',
            `Writers change rows of ${adopting.table.name} as fast as they are drained: ${notes} notes are pending, and they do not become fewer. Run it when they write less.`,
          )
        slices.hurry()
        lowestAt = now
      }
    },
  }
}

async function beginFinish(adopting: Adopting, { connection, job }: Slice, plaintext: 'null' | 'token'): Promise<void> {
  const { table } = adopting
  if (job.state === 'finish' || job.state === 'finished') return
  if (job.state !== 'switched')
    throw new VaultError(
      'failed_precondition',
      `${table.name} is in the state ${job.state}: only one that is switched can be finished.`,
    )
  const bare = table.columns.find(({ hasTokens }) => !hasTokens)
  if (plaintext === 'token' && bare !== undefined)
    throw new VaultError('failed_precondition', `Column ${bare.vault} of the vault has no tokens to write into ${table.name}.`)
  const required = table.columns.find(({ isRequired }) => isRequired)
  if (plaintext === 'null' && required !== undefined)
    throw new VaultError(
      'failed_precondition',
      `Column ${required.name} of ${table.name} is NOT NULL. Finish with tokens in place of plaintext.`,
    )
  await connection.run(`update ${table.jobs} set plaintext = ? where name = ?`, [plaintext, table.name])
  await enterState(adopting, connection, 'finish')
}

async function beginBack(adopting: Adopting, slice: Slice): Promise<void> {
  const { state } = slice.job
  if (OF_HOST.includes(state)) await enterLocked(adopting, slice, 'undoing')
  else if (FROM_VAULT.includes(state)) await enterLocked(adopting, { ...slice, job: { ...slice.job, pos: null } }, 'clearing')
}

/** Notes the records whose rows went away without a note. */
async function findMissing(adopting: Adopting, { slices }: Steps): Promise<void> {
  for (let from: string | null = null; ; ) {
    const after: string | null = from
    const last: string | undefined = await slices.run(async ({ connection, size }) => {
      const to: string | undefined = (await mapBehind(adopting, connection, after, size)).at(-1)?.key
      await noteKeys(adopting, connection, 'd', await recordsWithoutRow(adopting, connection, { from: after, to }))
      return to
    })
    if (last === undefined) return
    from = last
  }
}

async function readStatus(adopting: Adopting): Promise<AdoptStatus> {
  const { engine, table } = adopting
  return engine.transaction(async (connection) => {
    const { state, done, total, quietSeconds } = await readJob(adopting, connection, false)
    const status = { state, done, total, quietSeconds, notes: 0, lagSeconds: 0, refusedCount: 0, refused: [] }
    if (state === 'new') return status
    const age = engine.kind === 'sqlite' ? 'unixepoch() - min(at)' : 'floor(extract(epoch from clock_timestamp() - min(at)))'
    const [noted] = await connection.all(`select count(*), coalesce(${age}, 0) from ${table.notes}`)
    const refused = await connection.all(
      `select ${keyNames(table)}, column_name, code from ${table.refused} order by ${keyNames(table)} limit ${MAX_LISTED}`,
    )
    const width = table.key.length
    return {
      ...status,
      notes: Number(noted?.[0]),
      lagSeconds: Number(noted?.[1]),
      refusedCount: await countOf(connection, table.refused),
      refused: refused.map((row) => ({
        key: toJson(row.slice(0, width)),
        column: row[width] === null ? null : String(row[width]),
        code: String(row[width + 1]),
      })),
    }
  })
}
