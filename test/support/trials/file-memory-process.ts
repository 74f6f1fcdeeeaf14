/** A process that uploads and opens long files, and prints by how much its resident memory rises meanwhile. */
import { folderBlobs } from '../../../src/adapters/blobs/index.ts'
import { localKeys } from '../../../src/adapters/keys/index.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { column, createVault, defineSchema } from '../../../src/index.ts'
import { OWNER, TEST_SECRET } from '../vaults/test-vault.ts'

/** What the process does, as JSON in its first argument. */
export interface FileMemoryProcess {
  /** An empty folder. */
  readonly folder: string
  readonly store: 'database' | 'folder'
  /** Total length of the files in MiB, and how many are uploaded and opened at once: one number after the other. */
  readonly mebibytes: number
  readonly files: readonly number[]
  /** Moved before memory is compared. Default: what fills the page caches of SQLite. */
  readonly warmUpMebibytes?: number
  /** Keeps what it reads, for the negative control. */
  readonly isKept: boolean
}

const MIB = 2 ** 20
/** Contents that fill the page caches of SQLite, which have a bound of their own, before memory is compared. */
const WARM_UP_MIB = 96
const CHUNK = Buffer.alloc(64 * 1024, 'content of a long file ')

const options: FileMemoryProcess = JSON.parse(process.argv[2] ?? '{}')
const vault = await createVault({
  id: 'memory',
  schema: defineSchema({ people: { paper: column.file() } }),
  storage: sqliteStorage({ filename: `${options.folder}/vault.db` }),
  keys: localKeys({ key: TEST_SECRET }),
  ...(options.store === 'folder' ? { blobs: folderBlobs({ directory: `${options.folder}/blobs` }) } : {}),
})
const session = vault.as(OWNER)
const kept: Uint8Array[] = []

async function* contentOf(bytes: number): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < bytes; sent += CHUNK.length) yield CHUNK
}

/** Uploads and opens files of this total length. Throws if one is not as long as it was. */
async function move(mebibytes: number, files: number, isKept: boolean): Promise<void> {
  const size = (mebibytes * MIB) / files
  const moves = Array.from({ length: files }, async () => {
    const { id } = await session.uploadFile({ table: 'people', column: 'paper', file: contentOf(size) })
    const { stream } = await session.openFile('people', id, 'paper')
    let read = 0
    for await (const piece of stream) {
      read += piece.length
      if (isKept) kept.push(piece)
    }
    if (read !== size) throw new Error(`a file of ${size} bytes came back with ${read}`)
  })
  await Promise.all(moves)
}

await move(options.warmUpMebibytes ?? WARM_UP_MIB, 1, false)
globalThis.gc?.()
const before = process.memoryUsage.rss()
/** By how much memory rose over what it was before all of them, in MiB. */
const risen: number[] = []
for (const files of options.files) {
  let highest = process.memoryUsage.rss()
  const timer = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage.rss())
  }, 5)
  await move(options.mebibytes, files, options.isKept)
  clearInterval(timer)
  risen.push((Math.max(highest, process.memoryUsage.rss()) - before) / MIB)
}
await vault.close()
console.log(JSON.stringify({ risen }))
