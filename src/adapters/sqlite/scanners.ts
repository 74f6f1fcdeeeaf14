/** A few connections for long scans: each keeps one snapshot for as long as its scan takes. */
import { createDriverConnection, type DriverConnection } from './driver-connection.ts'
import type { OnSnapshot } from './sliced-scans.ts'
import type { DriverDatabase } from './sqlite-driver.ts'
import { mapSqliteError } from './sqlite-errors.ts'
import { command } from './table-work.ts'

export interface Scanners {
  /** Runs a scan on a snapshot taken now; waits while all connections are taken. */
  use<T>(scan: (run: OnSnapshot) => Promise<T>): Promise<T>
  /** Closes the connections once the scans that run or wait have ended. */
  close(): Promise<void>
}

/** Connections at most; a scan beyond them waits for another to end. */
const MAX_SCANNERS = 4

const BEGIN = command('begin')
const END = command('commit')

interface Scanner {
  readonly database: DriverDatabase
  readonly connection: DriverConnection
}

export function createScanners(open: () => DriverDatabase): Scanners {
  const pool = createPool(open)
  let scans = 0
  let onQuiet: (() => void) | undefined
  return {
    async use(scan) {
      scans++
      try {
        return await onScanner(pool, scan)
      } finally {
        scans--
        if (scans === 0) onQuiet?.()
      }
    },
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

async function onScanner<T>(pool: Pool, scan: (run: OnSnapshot) => Promise<T>): Promise<T> {
  const scanner = await pool.take()
  try {
    scanner.connection.run(BEGIN)
    return await scan(scanner.connection.run)
  } finally {
    if (scanner.database.inTransaction) scanner.connection.run(END)
    pool.giveBack(scanner)
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
