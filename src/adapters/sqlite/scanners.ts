/** A few connections for long scans: each keeps one snapshot for as long as its scan takes. */
import { command, createDriverConnection, type DriverConnection, onlyStep, type TableWork } from './connection.ts'
import type { DriverDatabase } from './drivers.ts'
import type { OnSnapshot } from './scans.ts'
import { mapSqliteError } from './sqlite-errors.ts'

export interface Scanners {
  /** Runs a scan on a snapshot taken now; waits while all connections are taken. */
  use<T>(scan: Scan<T>): Promise<T>
  /** The same for a scan whose pages may be in the cache of the writing connection. It begins there. */
  useCache<T>(scan: Scan<T>): Promise<T>
  /** Closes the connections once the scans that run or wait have ended. */
  close(): Promise<void>
}

type Scan<T> = (run: OnSnapshot) => Promise<T>

/** The connections of a handle that are not the pool's. */
interface OtherConnections {
  /** Keeps its pages across its own commits, where every other connection reads them again. */
  readonly writing: DriverConnection
  /** Never commits, so that it notices every commit. */
  readonly reading: DriverConnection
}

/** Connections at most; a scan beyond them waits for another to end. */
const MAX_SCANNERS = 4
/** How long a scan reads on the writing connection at most. What it reads so long fits into the cache of that connection with room for other pages. */
const MAX_MS_ON_WRITER = 10

const BEGIN = command('begin')
const END = command('commit')
/** Returns a number that changes with each commit of another connection, and begins the snapshot of a transaction. */
const DATA_VERSION: TableWork<unknown> = onlyStep(
  undefined,
  { kind: 'row', statement: { text: 'pragma data_version' }, parameters: [], columns: ['data_version'] },
  ({ rows: [row] }) => row?.[0],
)

interface Scanner {
  readonly database: DriverDatabase
  readonly connection: DriverConnection
}

/** `now` returns milliseconds that rise. */
export function createScanners(open: () => DriverDatabase, others: OtherConnections, now = () => performance.now()): Scanners {
  const pool = createPool(open)
  let scans = 0
  let onQuiet: (() => void) | undefined

  async function onScanner<T>(scan: (scanner: DriverConnection) => Promise<T>): Promise<T> {
    scans++
    try {
      return await withScanner(pool, scan)
    } finally {
      scans--
      if (scans === 0) onQuiet?.()
    }
  }

  return {
    use: (scan) =>
      onScanner((scanner) => {
        scanner.run(BEGIN)
        return scan(scanner.run)
      }),
    useCache: (scan) => onScanner((scanner) => scan(beginBesideWriter(scanner, others, now))),
    async close() {
      if (scans > 0) {
        await new Promise<void>((resolve) => {
          onQuiet = resolve
        })
      }
      pool.close()
    },
  }
}

async function withScanner<T>(pool: Pool, scan: (scanner: DriverConnection) => Promise<T>): Promise<T> {
  const scanner = await pool.take()
  try {
    return await scan(scanner.connection)
  } finally {
    if (scanner.database.inTransaction) scanner.connection.run(END)
    pool.giveBack(scanner)
  }
}

/**
 * Begins a snapshot and runs work on the writing connection while that is idle and nothing was committed since: what it reads then is what
 * the snapshot has. From the first commit on, work runs on the snapshot.
 */
function beginBesideWriter(scanner: DriverConnection, { writing, reading }: OtherConnections, now: () => number): OnSnapshot {
  const version = reading.run(DATA_VERSION)
  scanner.run(BEGIN)
  scanner.run(DATA_VERSION)
  let msOnWriter = MAX_MS_ON_WRITER
  return (work) => {
    if (msOnWriter > 0 && !writing.isOpen()) {
      const began = now()
      try {
        const result = writing.run(work)
        if (reading.run(DATA_VERSION) === version) {
          msOnWriter -= now() - began
          return result
        }
      } catch {
        // The snapshot is read below, and says what is wrong with it.
      }
      msOnWriter = 0
    }
    return scanner.run(work)
  }
}

interface Pool {
  take(): Scanner | Promise<Scanner>
  giveBack(scanner: Scanner): void
  close(): void
}

function createPool(open: () => DriverDatabase): Pool {
  const all: Scanner[] = []
  const idle: Scanner[] = []
  const waiting: ((scanner: Scanner) => void)[] = []
  return {
    take() {
      const free = idle.pop()
      if (free !== undefined) return free
      if (all.length >= MAX_SCANNERS) return new Promise((resolve) => waiting.push(resolve))
      const made = openScanner(open)
      all.push(made)
      return made
    },
    giveBack(scanner) {
      const next = waiting.shift()
      if (next === undefined) idle.push(scanner)
      else next(scanner)
    },
    close() {
      for (const { database } of all) database.close()
    },
  }
}

function openScanner(open: () => DriverDatabase): Scanner {
  try {
    const database = open()
    return { database, connection: createDriverConnection(database, 'reading') }
  } catch (error) {
    throw mapSqliteError(error, undefined)
  }
}
