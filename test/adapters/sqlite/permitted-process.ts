/** A separate process that stores a file in a vault and prints "stored", or the code and message of the error: `node permitted-process.ts <storage> <folder>`. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { folderBlobs } from '../../../src/adapters/blobs/index.ts'
import { localKeys } from '../../../src/adapters/keys/index.ts'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { column, createVault, defineSchema, isVaultError } from '../../../src/index.ts'

const [storage, folder = ''] = process.argv.slice(2)

async function store(): Promise<void> {
  const name = randomBytes(8).toString('hex')
  const isDriver = storage === 'better-sqlite3' || storage === 'node:sqlite'
  const vault = await createVault({
    id: 'v1',
    schema: defineSchema({ notes: { text: column.string({ unique: true }), file: column.file() } }),
    storage: isDriver ? sqliteStorage({ filename: join(folder, `${name}.db`), driver: storage }) : memoryStorage(),
    keys: localKeys({ key: randomBytes(32).toString('base64') }),
    ...(isDriver ? {} : { blobs: folderBlobs({ directory: join(folder, name) }) }),
  })
  const session = vault.as({ actor: 'test', actorType: 'USER', roles: ['VAULT_OWNER'] })
  await session.uploadFile({ table: 'notes', column: 'file', file: randomBytes(100_000) })
  await vault.close()
}

try {
  await store()
  console.log('stored')
} catch (error) {
  console.log(isVaultError(error) ? `${error.code}: ${error.message}` : String(error))
}
