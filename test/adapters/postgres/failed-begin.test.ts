/** A BEGIN that fails: nothing of its transaction is stored, the call says so, and the next transaction is whole. And the order of what waits for BEGIN. */
import pg from 'pg'
import { afterAll, afterEach, describe, expect, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import type { PhysicalTable, StorageHandle } from '../../../src/core/ports/storage.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'

const NOTES: PhysicalTable = { name: 'notes', columns: [{ name: 'title', type: 'text' }], indexes: [] }
const CANCELLED = { code: 'unavailable', cause: { message: 'PostgreSQL reported 57014' } }

const database = await freshDatabase(inject('postgresUrl'))
const endings: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})
afterAll(() => database.drop())

/** Where the server cancels the next text that begins a transaction. */
type Moment = 'before BEGIN' | 'after BEGIN'
let next: Moment | undefined

/** A cancellation as `pg_cancel_backend` or `statement_timeout` sends it, at a known moment. */
class CancelledClient extends pg.Client {
  override query = ((query: { text?: string }, ...more: unknown[]) => {
    const moment = query.text?.startsWith('begin') === true ? next : undefined
    if (moment === undefined) return Reflect.apply(super.query, this, [query, ...more])
    next = undefined
    const cancel = 'select pg_cancel_backend(pg_backend_pid()), pg_sleep(10)'
    const text = moment === 'before BEGIN' ? `${cancel}; ${query.text}` : `${query.text}; ${cancel}`
    return Reflect.apply(super.query, this, [{ ...query, text }, ...more])
  }) as pg.Client['query']
}

let schemas = 0
async function open(pipeline: boolean): Promise<StorageHandle> {
  const pool = new pg.Pool({ connectionString: database.url, Client: CancelledClient, max: 1, pipeline })
  endings.push(() => pool.end())
  const storage = postgresStorage({ pool, schema: `begin_${++schemas}` })
  await storage.prepare([NOTES])
  return storage
}

const note = (id: number) => [{ id, title: 'a note' }]

for (const pipeline of [true, false]) {
  describe(`on a pool ${pipeline ? 'that pipelines' : 'that sends one query at a time'}`, () => {
    for (const moment of ['before BEGIN', 'after BEGIN'] as const) {
      it(`a transaction that is cancelled ${moment} stores nothing`, async () => {
        const storage = await open(pipeline)
        const works: ((inner: Parameters<Parameters<StorageHandle['transaction']>[0]>[0]) => Promise<unknown>)[] = [
          async (inner) => {
            await inner.insert('notes', note(1))
            await inner.insert('notes', note(2))
          },
          (inner) => Promise.all([inner.insert('notes', note(1)), inner.insert('notes', note(2))]),
          (inner) => Promise.all([inner.get('notes', [1]), inner.insert('notes', note(1)), inner.get('notes', [2])]),
          (inner) => inner.transaction((nested) => nested.insert('notes', note(1))),
          (inner) => inner.insert('notes', note(1)).catch(() => {}),
          (inner) => inner.get('notes', [1]),
        ]
        for (const work of works) {
          next = moment
          await expect(storage.transaction(work)).rejects.toMatchObject(CANCELLED)
          expect(await storage.get('notes', [1, 2])).toEqual([undefined, undefined])
        }
        await storage.transaction((inner) => inner.insert('notes', note(3)))
        expect(await storage.get('notes', [3])).toMatchObject(note(3))
      })
    }

    it('what waits for BEGIN goes in its order, and before COMMIT and ROLLBACK', async () => {
      const storage = await open(pipeline)
      const refuse = async (): Promise<void> => {
        throw new Error('refused')
      }
      for (let id = 1; id <= 5; id++) {
        // The statements of a savepoint are not awaited: sent late, they would end up in the next transaction of the connection.
        await storage.transaction((inner) => inner.transaction(refuse).catch(() => {}))
        await storage.transaction((inner) => inner.transaction(refuse)).catch(() => {})
        const [before, , after] = await storage.transaction((inner) =>
          Promise.all([inner.get('notes', [id]), inner.insert('notes', note(id)), inner.get('notes', [id])]),
        )
        expect(before).toEqual([undefined])
        expect(after).toMatchObject(note(id))
      }
    })
  })
}
