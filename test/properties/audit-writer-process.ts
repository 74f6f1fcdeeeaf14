/** A separate process that runs concurrent operations and prints their number. Started by audit-writers.test.ts. */
import { openClients } from '../support/audit/audited-clients.ts'
import { doOperations } from '../support/audit/audited-work.ts'
import { openStorage } from '../support/storages/open-storage.ts'

const [address = '', name = '', callers = '1', each = '1'] = process.argv.slice(2)
const vault = await openClients(openStorage(JSON.parse(address)))
const done = await doOperations(vault, { name, callers: Number(callers), each: Number(each) })
await vault.close()
console.log(JSON.stringify(done))
