/** Reads outside transactions share a connection with the writers: they see what is committed, exactly, whatever a writer is doing. */
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import type { Row, Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { type SeededRandom, seededRandom } from '../../support/random/seeded-random.ts'
import { NOTES } from './notes-table.ts'
import { temporaryFolder } from './temporary-folder.ts'

const nextFile = temporaryFolder()
const SEED = 'reads-beside-writers'
const IDS = 12
const WRITERS = 200
const OWN = new Error('a writer that gives up')

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** The committed labels by id, read at this moment by a connection of its own. */
function committedLabels(truth: Database.Database): ReadonlyMap<number, string> {
  return new Map(truth.prepare<[], [number, string]>('select id, label from notes').raw().all())
}

function labelsOf(rows: readonly (Row | undefined)[]): [number, unknown][] {
  return rows.flatMap((row) => (row === undefined ? [] : [[row.id, row.label]]))
}

/** Reads in one of several ways, and compares with what was committed when the read began. */
async function compareOneRead(random: SeededRandom, storage: Storage, truth: Database.Database): Promise<void> {
  const ids = Array.from({ length: 1 + random.below(8) }, () => 1 + random.below(IDS))
  const committed = committedLabels(truth)
  const rowsOf = (wanted: readonly number[]) => wanted.flatMap((id) => (committed.has(id) ? [[id, committed.get(id)]] : []))
  const everyId = Array.from({ length: IDS }, (_, index) => index + 1)
  const way = random.below(3)
  if (way === 0) expect(labelsOf(await storage.get('notes', ids))).toEqual(rowsOf(ids))
  else if (way === 1) {
    const page = { order: 'asc', limit: IDS } as const
    expect(labelsOf(await storage.find('notes', { kind: 'all' }, page))).toEqual(rowsOf(everyId))
  } else {
    const filter = { kind: 'in', column: 'id', values: everyId } as const
    expect(await storage.aggregate('notes', filter, [{ kind: 'count' }])).toEqual([committed.size])
  }
}

/** Writes a row or deletes it, in a way that never conflicts. */
async function writeOnce(random: SeededRandom, storage: Storage, label: string): Promise<void> {
  const id = 1 + random.below(IDS)
  const [row] = await storage.get('notes', [id])
  if (row === undefined) await storage.insert('notes', [{ id, label }])
  else if (random.chance(0.3)) await storage.delete('notes', { ids: [id] })
  else await storage.update('notes', [{ id, version: row.version, set: { label } }])
}

/** A transaction of several steps between which the event loop may turn and others read; it may fail, as a whole or in a savepoint. */
async function writeInTransaction(random: SeededRandom, beside: Beside, label: string): Promise<void> {
  const { storage, truth } = beside
  await storage.transaction(async (inner) => {
    const steps = 1 + random.below(4)
    for (let step = 0; step < steps; step++) {
      const name = `${label} ${step}`
      if (random.chance(0.3)) {
        const nested = inner.transaction(async (savepoint) => {
          await writeOnce(random, savepoint, name)
          if (random.chance(0.5)) throw OWN
        })
        await nested.catch(expectOwn)
      } else await writeOnce(random, inner, name)
      if (random.chance(0.5)) await nextTurn()
      // The outer storage, inside the open transaction.
      await compareOneRead(random, storage, truth)
    }
    if (random.chance(0.3)) throw OWN
  })
}

function expectOwn(error: unknown): void {
  if (error !== OWN) throw error
}

interface Beside {
  readonly storage: StorageHandle
  readonly truth: Database.Database
}

/** Another process commits, unless a writer of this one holds the file. */
function commitElsewhere(random: SeededRandom, other: Database.Database, label: string): void {
  try {
    other.prepare('update notes set label = ?, version = version + 1 where id = ?').run(label, 1 + random.below(IDS))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY')) throw error
  }
}

describe('reads beside writers', () => {
  it(`see exactly what is committed, during transactions, after failures and after commits of others (seed ${SEED})`, async () => {
    const random = seededRandom(SEED)
    const filename = nextFile()
    const storage = sqliteStorage({ filename, synchronous: 'normal' })
    await storage.prepare([NOTES])
    const truth = new Database(filename, { readonly: true })
    const other = new Database(filename, { timeout: 0 })
    const writers: Promise<void>[] = []
    let open = 0
    let readsBesideOpenTransactions = 0
    for (let turn = 0; writers.length < WRITERS; turn++) {
      if (random.chance(0.6)) {
        const own = random.fork(`writer ${writers.length}`)
        open++
        const ended = writeInTransaction(own, { storage, truth }, `writer ${writers.length}`).catch(expectOwn)
        writers.push(ended.finally(() => open--))
      }
      if (random.chance(0.3)) commitElsewhere(random, other, `turn ${turn}`)
      for (let reads = random.below(3); reads > 0; reads--) {
        if (open > 0) readsBesideOpenTransactions++
        await compareOneRead(random, storage, truth)
      }
      if (random.chance(0.7)) await nextTurn()
    }
    await Promise.all(writers)
    await compareOneRead(random, storage, truth)
    expect(readsBesideOpenTransactions).toBeGreaterThan(WRITERS / 4)
    truth.close()
    other.close()
    await storage.close()
  })

  it('see a row as soon as its writer is acknowledged, and never one of a transaction that rolled back', async () => {
    const storage = sqliteStorage({ filename: nextFile(), synchronous: 'normal' })
    await storage.prepare([NOTES])
    await storage.insert('notes', [{ id: 1, label: 'kept' }])
    expect(labelsOf(await storage.get('notes', [1]))).toEqual([[1, 'kept']])
    const failing = storage.transaction(async (inner) => {
      await inner.update('notes', [{ id: 1, version: 1, set: { label: 'rolled back' } }])
      await nextTurn()
      expect(labelsOf(await storage.get('notes', [1]))).toEqual([[1, 'kept']])
      throw OWN
    })
    await expect(failing).rejects.toBe(OWN)
    expect(labelsOf(await storage.get('notes', [1]))).toEqual([[1, 'kept']])
    await storage.close()
  })

  it('leave no transaction open: another connection can write at once', async () => {
    const filename = nextFile()
    const storage = sqliteStorage({ filename, synchronous: 'normal' })
    await storage.prepare([NOTES])
    const other = new Database(filename, { timeout: 0 })
    const read = storage.get('notes', [1, 2, 3])
    other.prepare("insert into notes (id, version, label) values (2, 1, 'elsewhere')").run()
    expect(other.pragma('wal_checkpoint(truncate)')).toEqual([{ busy: 0, log: 0, checkpointed: 0 }])
    expect(labelsOf(await read)).toEqual([])
    expect(labelsOf(await storage.get('notes', [2]))).toEqual([[2, 'elsewhere']])
    other.close()
    await storage.close()
  })
})
