/** The PostgreSQL storage passes the conformance suite, each case in a schema of its own. */
import { afterAll, describe, inject, it } from 'vitest'
import { storageCases } from '../../../src/adapters/conformance/index.ts'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'

const database = await freshDatabase(inject('postgresUrl'))
afterAll(() => database.drop())

describe('PostgreSQL storage', () => {
  for (const [position, { name, run }] of storageCases.entries()) {
    const reopen = async () => postgresStorage({ connectionString: database.url, schema: `case_${position}`, maxConnections: 4 })
    it(name, () => run({ open: reopen, reopen }))
  }
})
