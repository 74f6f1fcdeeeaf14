/** The storage outside any transaction: it reads what is committed and writes through the queue. */
import { VaultError } from '../../core/errors.ts'
import type { Filter, Row, Storage } from '../../core/ports/storage.ts'
import type { DriverLane } from './driver-lane.ts'
import { isBusyFault } from './engine-faults.ts'
import { createFrame, inCallersContext, isInsideTransaction, runInFrame } from './frame.ts'
import { type Engine, portOver, type Ways } from './port-over.ts'
import { standsWork } from './prepare-work.ts'
import { BLOCK_SIZE, type BlockChain, handUp } from './row-ids.ts'
import type { Scanners } from './scanners.ts'
import {
  createTurns,
  EVERY,
  findInSlices,
  getInSlices,
  IDS_AT_ONCE,
  isCountedAtOnce,
  isShortFind,
  isShortMeasure,
  isWholeCount,
  measureInSlices,
  type Scan,
} from './sliced-scans.ts'
import { retryWhileBusy, type WriteQueue, type Writer } from './write-queue.ts'

/** The connections of one handle, and what it shares with the transactions inside it. */
export interface Connections {
  readonly engine: Engine
  readonly writing: DriverLane
  readonly reading: DriverLane
  readonly queue: WriteQueue
  readonly scanners: Scanners
  /** Throws once the handle was closed. */
  assertOpen(): void
}

export function outerStorage(connections: Connections): Storage {
  const { engine, scanners, assertOpen } = connections
  const turns = createTurns()
  const ways = outerWays(connections)

  /** Scans of unknown length go to a snapshot of their own, in slices; short reads are one statement. */
  function scan<T>(table: string, filter: Filter, slices: (scan: Scan) => Promise<T>): Promise<T> {
    assertOpen()
    return retryWhileBusy(() => scanners.use((run) => slices({ rows: engine.rows, run, table, filter, turns })))
  }

  async function lastRow(table: string): Promise<Row | undefined> {
    return (await ways.read(engine.rows.find(table, EVERY, { order: 'down', limit: 1, columns: [] })))[0]
  }

  return {
    ...portOver(engine, ways),
    async get(table, ids) {
      if (ids.length <= IDS_AT_ONCE) return ways.read(engine.rows.get(table, ids))
      return scan(table, EVERY, (each) => getInSlices(each, ids))
    },
    async find(table, filter, page) {
      if (isShortFind(engine.shapes.of(table), filter, page)) return ways.read(engine.rows.find(table, filter, page))
      return scan(table, filter, (each) => findInSlices(each, page))
    },
    async measure(table, filter, measures) {
      if (isShortMeasure(engine.shapes.of(table), filter, measures))
        return ways.read(engine.rows.measure(table, filter, measures))
      if (isWholeCount(filter, measures) && isCountedAtOnce(await lastRow(table)))
        return ways.read(engine.rows.measure(table, filter, measures))
      return scan(table, filter, (each) => measureInSlices(each, measures, engine.shapes))
    },
  }
}

function outerWays({ engine, writing, reading, queue, assertOpen }: Connections): Ways {
  const { ids } = engine

  function push<T>(writer: Writer<T>): Promise<T> {
    assertOpen()
    if (isInsideTransaction(engine)) throw selfWaitError()
    return queue.push(writer)
  }

  const read: Ways['read'] = (work) => {
    assertOpen()
    try {
      return reading.run(work)
    } catch (fault) {
      if (!isBusyFault(fault)) throw fault
      return retryWhileBusy(() => reading.run(work))
    }
  }

  return {
    read,
    write: (work) => push({ selfUndoing: true, run: () => writing.run(work) }),
    reserveIds(shape, count) {
      assertOpen()
      const reserve = (blocks: BlockChain) => ids.reserve(shape, { count, blockSize: BLOCK_SIZE }, [ids.committed, ...blocks])
      const run = (blocks: BlockChain) => writing.run({ shape, begin: () => reserve(blocks) })
      return ids.atHand(shape.name, count) ?? push({ selfUndoing: true, run })
    },
    transaction(work) {
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
    stand: async (tables) => read(standsWork(tables)),
  }
}

function selfWaitError(): VaultError {
  return new VaultError(
    'internal',
    'Inside a transaction write through the storage it was given: the outer one would wait for it for ever.',
  )
}
