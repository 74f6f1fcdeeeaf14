/** A process with several writers of files, which work until it is killed. Started by file-kill-trial.ts. */
import { folderBlobs } from '../../../src/adapters/blobs/folder-blobs.ts'
import { databaseBlobs } from '../../../src/core/file-store/database-blobs.ts'
import { openArchive } from '../files/open-archive.ts'
import { randomFor } from '../random/seeded-random.ts'
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import { OWNER } from '../vaults/test-vault.ts'
import { fileLedger, writeFiles } from './file-writer.ts'

/** What a process is started with, as JSON in its first argument. */
export interface FileWriterProcess {
  readonly address: StorageAddress
  /** The folder of the blobs; undefined for blobs in the database. */
  readonly blobs?: string
  readonly ledger: string
  readonly name: string
  readonly seed: string
  readonly writers: number
  readonly acknowledgeEarly: boolean
}

const options: FileWriterProcess = JSON.parse(process.argv[2] ?? '')
const storage = openStorage(options.address)
const blobs = options.blobs === undefined ? databaseBlobs(storage) : folderBlobs({ directory: options.blobs })
const vault = await openArchive({ storage, blobs, clock: { ms: Date.now() } })
const note = fileLedger(options.ledger)
await Promise.all(
  Array.from({ length: options.writers }, (_, index) => {
    const name = `${options.name}.${index}`
    const { acknowledgeEarly } = options
    return writeFiles(vault.as(OWNER), { name, random: randomFor(`${options.seed} ${name}`), note, acknowledgeEarly })
  }),
)
