/** The memory that a storage can reach: that of the bytes it is given, as a whole, which a `postMessage` of some bytes sends. */
import { expect, it } from 'vitest'
import type { Changes, NewRow, Patch, Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { memoryEngine } from '../../support/storages/engines.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const NAME = 'Plaintext of a name'
const ROUNDS = 20

it('has sealed bodies, and neither a plaintext nor the hash of an event', async () => {
  const { storage, given } = watchedMemory(memoryEngine().fresh().open())
  const vault = await openPeople(storage)
  const session = vault.as(OWNER)
  for (let i = 0; i < ROUNDS; i++) {
    const { records } = await session.insert('people', [{ fields: { name: `${NAME} ${i}`, email: `${i}@name.example` } }])
    const id = records[0]?.id ?? ''
    await session.get('people', { ids: [id] })
    await session.updateOne('people', id, { name: `${NAME} again` })
    await session.query(`SELECT name FROM people WHERE email = '${i}@name.example'`)
  }
  const digests: string[] = []
  for await (const line of vault.exportAudit())
    digests.push(...Array.from(line.matchAll(/"digest":"([0-9a-f]{64})"/g), ([, hex = '']) => hex))
  await vault.close()
  expect(new Set(digests).size).toBe(4 * ROUNDS)
  const reached = Buffer.concat(Array.from(given, (memory) => Buffer.from(memory)))
  // The control: what the storage was given is a part of it.
  expect(reached.length).toBeGreaterThan(ROUNDS * 1000)
  expect(reached.includes(NAME)).toBe(false)
  expect(reached.includes('name.example')).toBe(false)
  expect(digests.filter((digest) => reached.includes(Buffer.from(digest, 'hex'))).length).toBe(0)
})

/** A storage, and the memory of all bytes that it is given to store. */
function watchedMemory(sound: StorageHandle): { readonly storage: StorageHandle; readonly given: ReadonlySet<ArrayBufferLike> } {
  const given = new Set<ArrayBufferLike>()
  const note = (cells: readonly (NewRow | Patch['set'])[]): void => {
    for (const row of cells) for (const cell of Object.values(row)) if (cell instanceof Uint8Array) given.add(cell.buffer)
  }
  const noteChanges = ({ inserts, updates }: Changes): void => {
    for (const { rows } of inserts) note(rows)
    for (const { patches } of updates) note(patches.map(({ set }) => set))
  }
  const wrap = (inner: Storage): Storage => ({
    ...inner,
    insert(table, rows) {
      note(rows)
      return inner.insert(table, rows)
    },
    update(table, patches) {
      note(patches.map(({ set }) => set))
      return inner.update(table, patches)
    },
    commit(changes) {
      noteChanges(changes)
      return inner.commit(changes)
    },
    transaction: (work, options) => inner.transaction((within) => work(wrap(within)), options),
  })
  return { storage: { ...sound, ...wrap(sound) }, given }
}
