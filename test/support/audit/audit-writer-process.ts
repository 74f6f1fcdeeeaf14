/** A separate process that runs concurrent operations and prints their number. Started by the law of audit writers. */
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import { openClients } from './audited-clients.ts'
import { doOperations, type Work } from './audited-work.ts'

const { address, ...work } = JSON.parse(process.argv[2] ?? '') as Work & { readonly address: StorageAddress } // Written by the law.
const vault = await openClients(openStorage(address))
const done = await doOperations(vault, work)
await vault.close()
console.log(JSON.stringify(done))
