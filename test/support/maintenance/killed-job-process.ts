/** A separate process that runs an exclusive job, and one that is only listed, until it is killed. It writes a line for each slice. */
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import { countingPass, openJobs, plantedTime } from './planted-jobs.ts'

const address = JSON.parse(process.argv[2] ?? '') as StorageAddress // Written by the test.
const planted = plantedTime()
const storage = openStorage(address)
const jobs = await openJobs(storage, planted, { name: 'killed:1' })
await jobs.run({ kind: 'rotateKeys', exclusive: true }, {}, (job) =>
  jobs.run({ kind: 'verifyRecords' }, {}, async (listed) => {
    planted.time.ms += 1000
    await listed.advance({ rows: 1 })
    planted.time.ms -= 1000
    const pass = countingPass(storage, job, 100_000)
    for (;;) {
      await job.advance(await pass.slice())
      process.stdout.write('slice\n')
    }
  }),
)
