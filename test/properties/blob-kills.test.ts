/** Processes that write blobs are killed: what each store keeps, and the negative control. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { BLOB_PIECES, BLOBS } from '../../src/core/schema/system-tables.ts'
import { storedInDatabase } from '../support/blobs/database-under-test.ts'
import { storedInFolder } from '../support/blobs/folder-under-test.ts'
import type { BlobAddress } from '../support/blobs/open-blobs.ts'
import { type S3Server, startS3 } from '../support/blobs/s3-server.ts'
import { freshDatabase } from '../support/postgres/fresh-database.ts'
import { openStorage, type StorageAddress } from '../support/storages/open-storage.ts'
import { type BlobKillTrial, runBlobKillTrial } from '../support/trials/blob-kill-trial.ts'
import { inFolder } from '../support/trials/folder.ts'
import type { TrialReport } from '../support/trials/report.ts'

/** Of each store. */
const KILLS = 2
/** Of the negative control at most, which ends with the first blob that is missing. */
const CONTROL_KILLS = 6
const SEED = process.env.SEED ?? 'blob-kills'

function runInFolder(options: Partial<BlobKillTrial> = {}): Promise<TrialReport> {
  return inFolder((directory) => {
    const blobs = join(directory, 'blobs')
    const address: BlobAddress = { kind: 'folder', directory: blobs }
    return runBlobKillTrial({
      address,
      directory,
      seed: SEED,
      kills: KILLS,
      stored: (key) => storedInFolder(blobs, key),
      ...options,
    })
  })
}

async function runInDatabase(storage: StorageAddress): Promise<TrialReport> {
  const watching = openStorage(storage)
  try {
    const address: BlobAddress = { kind: 'database', storage }
    await watching.prepare([BLOBS, BLOB_PIECES])
    const stored = (key: string) => storedInDatabase(watching, key)
    return await inFolder((directory) => runBlobKillTrial({ address, directory, seed: SEED, kills: KILLS, stored }))
  } finally {
    await watching.close()
  }
}

describe('processes that write blobs and are killed', () => {
  let server: S3Server
  beforeAll(async () => {
    server = await startS3('vault')
  })
  afterAll(() => server.close())

  /** Fails with the seed and what is wrong. */
  function expectNothingWrong({ failures, summary }: TrialReport): void {
    expect(failures, `seed ${SEED}: ${summary}`).toEqual([])
  }

  it('lose no acknowledged blob of a folder, and leave nothing that a deletion does not remove', async () => {
    expectNothingWrong(await runInFolder())
  })

  it('lose no acknowledged blob in SQLite, and leave nothing that a deletion does not remove', async () => {
    expectNothingWrong(await inFolder((directory) => runInDatabase({ engine: 'sqlite', filename: join(directory, 'blobs.db') })))
  })

  it('lose no acknowledged blob in PostgreSQL, and leave nothing that a deletion does not remove', async () => {
    const database = await freshDatabase(inject('postgresUrl'))
    expectNothingWrong(await runInDatabase({ engine: 'postgres', url: database.url }))
    await database.drop()
  })

  it('lose no acknowledged blob of an object store, and leave nothing that a deletion does not remove', async () => {
    const address: BlobAddress = { kind: 's3', url: server.url, bucket: 'vault', prefix: 'kills/' }
    const stored = (key: string) => server.stored('vault', `kills/${key}`)
    expectNothingWrong(await inFolder((directory) => runBlobKillTrial({ address, directory, seed: SEED, kills: KILLS, stored })))
  })

  it('are found out if they acknowledge before a blob is stored', async () => {
    const { failures } = await runInFolder({ acknowledgeEarly: true, kills: CONTROL_KILLS, maxFailures: 1 })
    expect(failures.join('\n')).toContain('an acknowledged blob')
  })
})
