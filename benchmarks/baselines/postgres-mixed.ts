/** Baseline: mixed statements on a plaintext Postgres table, prepared, in one transaction. */
import type pg from 'pg'
import { at } from '../../src/core/util/lists.ts'
import type { MixedItem } from '../fixtures/mixed-items.ts'
import type { Person } from '../fixtures/people.ts'
import { cellsOf, dropSchema } from './postgres-plaintext.ts'

/** A plaintext table. */
export interface PostgresMixed {
  /** Runs the items in one transaction. Returns the rows that were read. */
  run(items: readonly MixedItem[]): Promise<readonly Person[]>
  /** Drops the schema. */
  close(): Promise<void>
}

const COLUMNS = 'name, email, phone, address, ssn, city'

/** Creates the schema `name`. The first record has position 0. */
export async function openPostgresMixed(pool: pg.Pool, name: string): Promise<PostgresMixed> {
  const table = `${name}.people`
  await pool.query(`create schema ${name}`)
  await pool.query(
    `create table ${table} (id bigint generated always as identity primary key, name text, email text, phone text, address text, ssn text, city text)`,
  )
  const insert = { name: `${name}_i`, text: `insert into ${table} (${COLUMNS}) values ($1, $2, $3, $4, $5, $6) returning id` }
  const get = { name: `${name}_g`, text: `select ${COLUMNS} from ${table} where id = $1` }
  const update = { name: `${name}_u`, text: `update ${table} set phone = $1 where id = $2` }
  const remove = { name: `${name}_d`, text: `delete from ${table} where id = $1` }
  const ids: string[] = []
  const runOne = async (client: pg.PoolClient, item: MixedItem): Promise<readonly Person[]> => {
    if (item.kind === 'insert') {
      const { rows } = await client.query<{ id: string }>({ ...insert, values: cellsOf(item.person) })
      ids.push(at(rows, 0).id)
      return []
    }
    const id = at(ids, item.position)
    if (item.kind === 'get') return (await client.query<Person>({ ...get, values: [id] })).rows
    if (item.kind === 'update') await client.query({ ...update, values: [item.phone, id] })
    else await client.query({ ...remove, values: [id] })
    return []
  }
  return {
    async run(items) {
      const client = await pool.connect()
      try {
        await client.query('begin')
        const read: Person[] = []
        for (const item of items) read.push(...(await runOne(client, item)))
        await client.query('commit')
        return read
      } finally {
        client.release()
      }
    },
    close: () => dropSchema(pool, name),
  }
}
