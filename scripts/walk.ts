/**
 * Counts the files and functions that one warm call of each operation enters. `npm run walk` prints the counts on memory and on
 * SQLite; `npm run walk -- insert` prints each file that an insert on SQLite enters, in its order, with the function it enters first.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import './walk/count-calls.ts'
import type { Walks } from './walk/walks.ts'

/** Returns the walks by the storage they are on. */
export async function walkAll(): Promise<Readonly<Record<'memory' | 'sqlite', Walks>>> {
  // Loaded here, when their functions can be counted.
  const { memoryStorage } = await import('strongroom/memory')
  const { sqliteStorage } = await import('strongroom/sqlite')
  const { walksOn } = await import('./walk/walks.ts')
  const directory = mkdtempSync(join(tmpdir(), 'strongroom-walk-'))
  try {
    return {
      memory: await walksOn(memoryStorage()),
      sqlite: await walksOn(sqliteStorage({ filename: join(directory, 'walk.db') })),
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

async function print(name: string | undefined): Promise<void> {
  const { filesOfAll } = await import('./walk/walks.ts')
  const all = await walkAll()
  if (name === '--json') {
    const counts = Object.entries(all).map(([storage, walks]) => [
      storage,
      Object.fromEntries([
        ...Object.entries(walks).map(([operation, { path: _, ...counted }]) => [operation, counted]),
        ['every operation', { files: filesOfAll(walks).length }],
      ]),
    ])
    return console.log(JSON.stringify(Object.fromEntries(counts)))
  }
  const walk = name === undefined ? undefined : all.sqlite[name]
  if (walk !== undefined) {
    let before = ''
    for (const { file, name: entered } of walk.path) {
      if (file !== before) console.log(`${file}: ${entered}`)
      before = file
    }
    return
  }
  for (const [storage, walks] of Object.entries(all)) {
    console.log(`\nOn ${storage}: files entered by every operation ${filesOfAll(walks).length}`)
    console.table(Object.fromEntries(Object.entries(walks).map(([operation, { path: _, ...counted }]) => [operation, counted])))
  }
}

if (process.argv[1] === import.meta.filename) await print(process.argv[2])
