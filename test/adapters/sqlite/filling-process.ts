/** A process with a file size limit set from outside: fills the storage until it is full and prints the outcome. */
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { isVaultError } from '../../../src/core/errors.ts'
import { ALL, EVERY, NOTES } from './notes-table.ts'

// Without a listener the limit would end the process instead of failing the write.
process.on('SIGXFSZ', () => undefined)

const storage = sqliteStorage({ filename: process.argv[2] ?? '' })
await storage.prepare([NOTES])
const acknowledged: number[] = []
let refusals: unknown[] = []
for (let id = 1; refusals.length === 0; id += 8) {
  const ids = Array.from({ length: 8 }, (_, n) => id + n)
  const write = (each: number) =>
    storage.transaction((inner) => inner.insert('notes', [{ id: each, label: `l${each}`, body: new Uint8Array(30_000) }]))
  const endings = await Promise.allSettled(ids.map(write))
  endings.forEach((ending, n) => {
    if (ending.status === 'fulfilled') acknowledged.push(id + n)
  })
  refusals = endings.flatMap((ending) => (ending.status === 'rejected' ? [ending.reason] : []))
}
const found = (await storage.find('notes', EVERY, ALL)).map((row) => row.id)
const codes = refusals.map((error) => (isVaultError(error) ? error.code : String(error)))
console.log(JSON.stringify({ acknowledged, found, codes }))
