/** A process that imports: `node importing-process.ts <address as JSON> <file>`. It prints a line for each batch and each reject, and ends with `done`. */
import { importRecords } from '../../../src/transfer/index.ts'
import { openStorage } from '../storages/open-storage.ts'
import { OWNER, openPeople } from '../vaults/test-vault.ts'

const [, , address = '', source = ''] = process.argv
const vault = await openPeople(openStorage(JSON.parse(address)))
await importRecords(vault.as(OWNER), {
  table: 'people',
  source,
  format: 'csv',
  name: 'people.csv',
  batchSize: 50,
  onProgress: ({ records }) => void process.stdout.write(`records ${records}\n`),
  onReject: ({ record, code }) => void process.stdout.write(`reject ${record} ${code}\n`),
})
process.stdout.write('done\n')
await vault.close()
