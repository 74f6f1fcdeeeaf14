/** A separate process that opens a vault in memory and prints "opened", or the code and message of the error: `node opening-process.ts`. */
import { randomBytes } from 'node:crypto'
import { localKeys } from '../../../../src/adapters/keys/index.ts'
import { memoryStorage } from '../../../../src/adapters/memory/index.ts'
import { column, createVault, defineSchema, isVaultError } from '../../../../src/index.ts'

try {
  const keys = localKeys({ key: randomBytes(32).toString('base64') })
  const schema = defineSchema({ notes: { text: column.string() } })
  await (await createVault({ id: 'v', storage: memoryStorage(), keys, schema, policy: {} })).close()
  console.log('opened')
} catch (error) {
  console.log(isVaultError(error) ? `${error.code}: ${error.message}` : String(error))
}
