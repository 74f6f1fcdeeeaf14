/** Storage in one SQLite file: a writing connection behind a queue of shared commits, and one that reads snapshots. */
import { VaultError } from '../../core/errors.ts'
import type { Storage, StorageHandle } from '../../core/ports/storage.ts'
import { unavailableError } from '../sql/sql-errors.ts'
import { createTableShapes } from '../sql/table-shapes.ts'
import { createDriverLane } from './driver-lane.ts'
import { createFrame, inCallersContext, isInsideTransaction, runInFrame, storageInFrame } from './frame.ts'
import { joinHost } from './join-host.ts'
import { openDatabase, type Synchronous } from './open-database.ts'
import { type Engine, portOver } from './port-over.ts'
import { standsWork } from './prepare-work.ts'
import { BLOCK_SIZE, type BlockChain, createRowIds, handUp } from './row-ids.ts'
import { createRowWork } from './row-work.ts'
import type { TableWork } from './table-work.ts'
import { createWriteQueue, retryWhileBusy, type Writer } from './write-queue.ts'

export interface SqliteOptions {
  /** The file to keep everything in; made where it does not exist. */
  readonly filename: string
  /** `full` unless said otherwise: nothing acknowledged is lost when the power fails. */
  readonly synchronous?: Synchronous
}

export function sqliteStorage(options: SqliteOptions): StorageHandle {
  const database = openDatabase(options.filename, options.synchronous ?? 'full')
  const shapes = createTableShapes()
  const engine: Engine = { shapes, rows: createRowWork(shapes), ids: createRowIds() }
  const writing = createDriverLane(database.writer, 'transaction')
  const reading = createDriverLane(database.reader, 'reading')
  const queue = createWriteQueue(writing, engine.ids.committed, onceThen(database.assertDurable))
  let closing: Promise<void> | undefined

  function assertOpen(): void {
    if (closing !== undefined) throw unavailableError('This SQLite storage was closed.')
  }

  async function read<T>(work: TableWork<T>): Promise<T> {
    assertOpen()
    return retryWhileBusy(() => reading.run(work))
  }

  async function push<T>(writer: Writer<T>): Promise<T> {
    assertOpen()
    if (isInsideTransaction(engine)) {
      throw new VaultError(
        'internal',
        'Inside a transaction write through the storage it was given: the outer one would wait for it for ever.',
      )
    }
    return queue.push(writer)
  }

  const outer = portOver(engine, {
    read,
    write: (work) => push({ selfUndoing: true, run: () => writing.run(work) }),
    async reserveIds(shape, count) {
      assertOpen()
      const { committed } = engine.ids
      const atHand = engine.ids.atHand(shape.name, count, [committed])
      const begin = (blocks: BlockChain) => engine.ids.reserve(shape, { count, blockSize: BLOCK_SIZE }, [committed, ...blocks])
      return atHand ?? push({ selfUndoing: true, run: (blocks) => writing.run({ shape, begin: () => begin(blocks) }) })
    },
    transaction<T>(work: (storage: Storage) => Promise<T>) {
      const frame = createFrame(engine, undefined)
      const bound = inCallersContext(frame, work)
      return push({
        selfUndoing: false,
        async run([group, own]) {
          if (group !== undefined) frame.groupBlocks = [group]
          const result = await runInFrame(frame, writing, bound)
          if (own !== undefined) handUp(frame.blocks, own)
          return result
        },
      })
    },
    stand: (tables) => read(standsWork(tables)),
  })

  return {
    ...outer,
    joinTransaction(host) {
      assertOpen()
      // The application commits or not, unseen by us: such a frame takes no more ids from the counter than it needs.
      return storageInFrame(createFrame(engine, undefined, 0), joinHost(host, database.filename))
    },
    close() {
      closing ??= queue.idle().then(() => database.close())
      return closing
    },
  }
}

/** Asserted after the first commit, when the driver's build would have lowered it. */
function onceThen(assert: () => void): () => void {
  let asserted = false
  return () => {
    if (!asserted) assert()
    asserted = true
  }
}
