/** A separate process that writes notes to a shared file and prints their ids: `node writing-process.ts <file> <name> <count> <driver>`. */
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { NOTES } from './notes-table.ts'

const [, , filename = '', name = '', count = '0', driver] = process.argv
const storage = sqliteStorage({ filename, driver: driver === 'node:sqlite' ? driver : 'better-sqlite3' })
await storage.prepare([NOTES])
const ids: number[] = []
for (let batch = 0; batch < Number(count); batch += 20) {
  const writers = Array.from({ length: 20 }, (_, n) =>
    storage.transaction(async (inner) => {
      const [id = 0] = await inner.reserveIds('notes', 1)
      await inner.insert('notes', [{ id, label: `${name} ${batch + n}` }])
      return id
    }),
  )
  ids.push(...(await Promise.all(writers)))
}
await storage.close()
console.log(JSON.stringify(ids))
