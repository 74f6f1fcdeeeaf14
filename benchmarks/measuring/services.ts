/** Services in processes of their own, and the CPU that they and their database use. */
import { fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { VaultPlace } from './writers.ts'

/** What the process of a service is given. It survives JSON. */
export interface ServiceInput {
  readonly side: 'vault' | 'express'
  readonly place: VaultPlace
  /** Processes that serve one port. */
  readonly workers: number
}

/** A service that listens. */
export interface Service {
  readonly port: number
  readonly pids: readonly number[]
  stop(): Promise<void>
}

/** Starts a service as in production. Resolves when it listens. */
export async function startService(input: ServiceInput): Promise<Service> {
  const env = { ...process.env, NODE_ENV: 'production' }
  const program = join(import.meta.dirname, 'service-process.ts')
  const child = fork(program, [JSON.stringify(input)], { stdio: 'inherit', execArgv: [], env })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const started = await Promise.race([
    new Promise<Pick<Service, 'port' | 'pids'>>((resolve) => child.once('message', resolve as (message: unknown) => void)),
    ended.then(() => {
      throw new Error(`The process of ${input.side} ended.`)
    }),
  ])
  return {
    ...started,
    async stop() {
      child.disconnect()
      await ended
    },
  }
}

/**
 * Returns a clock of the CPU that these processes have used and, with an address, all processes of that PostgreSQL server, in microseconds. Undefined
 * on systems without `/proc`.
 */
export async function cpuClock(pids: readonly number[], postgresUrl?: string): Promise<(() => number) | undefined> {
  try {
    const postmaster = postgresUrl === undefined ? undefined : await postmasterOf(postgresUrl)
    const clock = () => {
      const ofServices = pids.reduce((sum, pid) => sum + cpuOf(pid).own, 0)
      return postmaster === undefined ? ofServices : ofServices + cpuOfServer(postmaster)
    }
    clock()
    return clock
  } catch {
    return undefined
  }
}

/** Returns the process whose children are those of the connections. */
async function postmasterOf(connectionString: string): Promise<number> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const parent = statOf(rows[0]?.pid ?? 0)[1]
  await client.end()
  return Number(parent)
}

function cpuOfServer(postmaster: number): number {
  const { own, ended } = cpuOf(postmaster)
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').trim().split(' ').map(Number)
  return children.reduce((sum, pid) => sum + ownUnlessEnded(pid), own + ended)
}

/** A server has workers that come and go. What one has used that ended since the list was read is missing until the next reading. */
function ownUnlessEnded(pid: number): number {
  try {
    return cpuOf(pid).own
  } catch {
    return 0
  }
}

/** Microseconds in one tick of the kernel's clock of processes. */
const TICK = 10_000

/** Returns the CPU of a process, and of its children that have ended, in microseconds. */
function cpuOf(pid: number): { readonly own: number; readonly ended: number } {
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = statOf(pid).slice(11, 15).map(Number)
  return { own: (user + system) * TICK, ended: (endedUser + endedSystem) * TICK }
}

/** Returns what the kernel says of a process, from its state on: what comes before it can have spaces. */
function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}
