/** A process that lives for one insert: `node short-process.ts <address as JSON> <close | kill>`. Killed, it has an open transaction besides. */
import { openStorage } from '../../support/storages/open-storage.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const [, , address = '', end = ''] = process.argv
const vault = await openPeople(openStorage(JSON.parse(address)))
await vault.as(OWNER).insert('people', [{ fields: { name: 'Ann' } }])
if (end === 'close') await vault.close()
else {
  await vault.transaction(async (inside) => {
    await inside.as(OWNER).insert('people', [{ fields: { name: 'lost' } }])
    process.kill(process.pid, 'SIGKILL')
    await new Promise(() => {})
  })
}
