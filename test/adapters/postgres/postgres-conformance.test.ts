/** The PostgreSQL storage passes the conformance suite, each case in a schema of its own. */
import pg from 'pg'
import { afterAll, describe, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { storageCases } from '../../../src/conformance/storage/index.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { rewritingClient } from '../../support/postgres/rewriting-client.ts'

const database = await freshDatabase(inject('postgresUrl'))
afterAll(() => database.drop())

describe('PostgreSQL storage', () => {
  for (const [position, { name, run }] of storageCases.entries()) {
    const reopen = async () => postgresStorage({ connectionString: database.url, schema: `case_${position}`, maxConnections: 4 })
    it(name, () => run({ open: reopen, reopen }))
  }
})

/** Engines that have no other level run every transaction at SERIALIZABLE. */
const SerializableClient = rewritingClient((text) =>
  text.replace('isolation level read committed', 'isolation level serializable'),
)

describe('PostgreSQL storage where every transaction is serializable', () => {
  const pool = new pg.Pool(
    Object.assign({ connectionString: database.url, max: 8, pipeline: true }, { Client: SerializableClient }),
  )
  afterAll(() => pool.end())
  for (const [position, { name, run }] of storageCases.entries()) {
    const reopen = async () => postgresStorage({ pool, schema: `serializable_${position}` })
    // Transactions, races, patches, commits, and tables that several prepare: the others run no two at once.
    if (/^[TRPKS]\d/.test(name)) it(name, () => run({ open: reopen, reopen }))
  }
})
