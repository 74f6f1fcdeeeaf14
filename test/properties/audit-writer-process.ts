/** A process of its own that does so many operations, many at once, and prints how many it did: run by audit-writers.test.ts. */
import { postgresStorage } from '../../src/adapters/postgres/postgres-storage.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/sqlite-storage.ts'
import { openClients } from '../support/audit/audited-clients.ts'
import { doOperations } from '../support/audit/audited-work.ts'

const [engine = '', location = '', name = '', callers = '1', each = '1'] = process.argv.slice(2)
const storage = engine === 'sqlite' ? sqliteStorage({ filename: location }) : postgresStorage({ connectionString: location })
const vault = await openClients(storage)
const done = await doOperations(vault, { name, callers: Number(callers), each: Number(each) })
await vault.close()
console.log(JSON.stringify(done))
