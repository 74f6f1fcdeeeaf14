/** Long contents leave turns of the event loop to other work, on stores that never wait for input or output, too. */
import { expect, it } from 'vitest'
import { databaseBlobs } from '../../../src/core/file-store/database-blobs.ts'
import { bytesOf, countedBlobs, openFileVault } from '../../support/files/open-file-vault.ts'
import { memoryEngine, sqliteEngine } from '../../support/storages/engines.ts'

const CONTENT = Buffer.alloc(4 * 1024 * 1024, 'content ')
/** One for each 256 KiB, but for the last. */
const MIN_TURNS = 15

it.each([
  ['memory', 'its own store', memoryEngine(), false],
  ['memory', 'the database', memoryEngine(), true],
  ['sqlite', 'the database', sqliteEngine(), true],
] as const)('on %s, with contents in %s', async (_name, _store, engine, isInDatabase) => {
  const storage = engine.fresh().open()
  const { session } = await openFileVault(storage, { blobs: isInDatabase ? databaseBlobs(storage) : countedBlobs() })
  const { records } = await session.insert('teams', [{ fields: { name: 'Blue' } }])
  const id = records[0]?.id ?? ''
  const { turns } = await turnsDuring(() => session.uploadFile({ table: 'teams', id, column: 'badge', file: CONTENT }))
  expect(turns).toBeGreaterThanOrEqual(MIN_TURNS)
  const { stream } = await session.openFile('teams', id, 'badge')
  const read = await turnsDuring(() => bytesOf(stream))
  expect(read.turns).toBeGreaterThanOrEqual(MIN_TURNS)
  expect(read.result.equals(CONTENT)).toBe(true)
})

/** Counts the turns of the event loop that other work gets meanwhile. */
async function turnsDuring<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly turns: number }> {
  let turns = 0
  let next = setImmediate(function count() {
    turns++
    next = setImmediate(count)
  })
  try {
    const result = await work()
    return { result, turns }
  } finally {
    clearImmediate(next)
  }
}
