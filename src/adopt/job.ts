/** The row of a job: how far adopting a table is. It changes in the transaction of the work that it describes. */
import type { Caller, SchemaDefinition, Session } from '../index.ts'
import type { AdoptedTable } from './adopted-table.ts'
import type { Connection, Engine } from './engine.ts'

/** The states, in order. The last three lead back. */
export type AdoptState =
  | 'new'
  | 'backfill'
  | 'verify'
  | 'overlap'
  | 'switched'
  | 'finish'
  | 'finished'
  | 'clearing'
  | 'restoring'
  | 'undoing'

/** The states in which the host's rows are the truth, and records follow them. */
export const OF_HOST: readonly AdoptState[] = ['backfill', 'verify', 'overlap']
/** The states without records. */
export const WITHOUT_RECORDS: readonly AdoptState[] = ['new', 'undoing']

/** The part of a session that is used: operations by their names, because the compiler does not know the table. */
export type AdoptSession = Pick<Session<SchemaDefinition>, 'perform'>

/** A vault, as far as it is used. */
interface AdoptingVault {
  withTransaction(hostTransaction: unknown): { as(caller: Caller): AdoptSession }
}

/** What all steps share. */
export interface Adopting {
  readonly engine: Engine
  readonly table: AdoptedTable
  readonly vault: AdoptingVault
  readonly caller: Caller
  /** Rows of a slice at most: the vault has a limit of records. */
  readonly maxRows: number
}

export interface Job {
  readonly state: AdoptState
  /** The last key of the walk, as JSON; null at its beginning. */
  readonly pos: string | null
  readonly done: number
  readonly total: number
  /** Walks of `verify` that found a difference, and how many this one has found. */
  readonly passes: number
  readonly found: number
  /** What finish writes in place of plaintext. */
  readonly plaintext: 'null' | 'token'
  /** Seconds since the last change by others than the helper was drained. */
  readonly quietSeconds: number
}

const NONE: Job = { state: 'new', pos: null, done: 0, total: 0, passes: 0, found: 0, plaintext: 'null', quietSeconds: 0 }

/** Returns the job. With `isOwn`, no other process changes it before the transaction ends. */
export async function readJob({ engine, table }: Adopting, connection: Connection, isOwn = true): Promise<Job> {
  if (!(await isBegun({ engine, table }, connection))) return NONE
  const text = `select state, pos, done, total, passes, found, plaintext, ${engine.now} - quiet_since from ${table.jobs} where name = ?`
  const [row] = await connection.all(isOwn ? text + engine.forUpdate : text, [table.name])
  if (row === undefined) return NONE
  const [state, pos, done, total, passes, found, plaintext, quiet] = row
  return {
    state: String(state) as AdoptState, // Only these functions write it.
    pos: pos === null || pos === undefined ? null : String(pos),
    done: Number(done),
    total: Number(total),
    passes: Number(passes),
    found: Number(found),
    plaintext: plaintext === 'token' ? 'token' : 'null',
    quietSeconds: Number(quiet),
  }
}

/** True once the tables of adopting exist. */
async function isBegun({ engine, table }: Pick<Adopting, 'engine' | 'table'>, connection: Connection): Promise<boolean> {
  const text =
    engine.kind === 'sqlite'
      ? `select 1 from sqlite_master where name = 'strongroom_adopt'`
      : `select 1 where to_regclass(?) is not null`
  return (await connection.all(text, engine.kind === 'sqlite' ? [] : [table.jobs])).length > 0
}

export async function enterState({ table }: Adopting, connection: Connection, state: AdoptState): Promise<void> {
  await connection.run(`update ${table.jobs} set state = ?, pos = null, done = 0, passes = 0, found = 0 where name = ?`, [
    state,
    table.name,
  ])
}

/** The walk has come to this key, `count` rows further. */
export async function advance({ table }: Adopting, connection: Connection, pos: string, count: number): Promise<void> {
  await connection.run(`update ${table.jobs} set pos = ?, done = done + ? where name = ?`, [pos, count, table.name])
}

/** The condition that a key of the table `alias` is behind a place of a walk, and its parameters. */
export function behind(
  { engine, table }: Adopting,
  alias: string,
  pos: string | null,
): { readonly text: string; readonly parameters: string[] } {
  if (pos === null) return { text: '1 = 1', parameters: [] }
  const cells = table.key.map(({ type }, position) => engine.cell(position, type))
  const names = table.key.map(({ quoted }) => `${alias}.${quoted}`)
  return { text: `(${names.join(', ')}) > (${cells.join(', ')})`, parameters: cells.map(() => pos) }
}
