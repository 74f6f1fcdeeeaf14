/** A separate process that does all work of a vault, by the ciphers of its argument, and prints what it read: `node vault-process.ts node`. */
import { memoryStorage } from '../../../../src/adapters/memory/index.ts'
import { isVaultError } from '../../../../src/index.ts'
import { read, write } from './vault-work.ts'

const cryptography = process.argv[2] === 'node' ? 'node' : 'wasm'
try {
  const storage = memoryStorage()
  console.log(JSON.stringify(await read(storage, cryptography, await write(storage, cryptography))))
} catch (error) {
  console.log(isVaultError(error) ? `${error.code}: ${error.message}` : error)
}
