/** Opens the console on the vault of the quickstart, and prints its address with the keys of three callers. In CI it makes one request and ends. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answerClientError, apiKeys, createHandler, toNodeHandler } from 'strongroom/http'
import { localKeys } from 'strongroom/keys'
import { sqliteStorage } from 'strongroom/sqlite'
import { openShownVault } from './console-vault.ts'
import { heading, line, table } from './terminal.ts'

const folder = mkdtempSync(join(tmpdir(), 'strongroom-quickstart-console-'))
const storage = sqliteStorage({ filename: join(folder, 'vault.db') })
const { vault, keys } = await openShownVault(storage, localKeys({ file: join(folder, 'vault.key') }))

const handler = createHandler({ vaults: vault, authenticate: apiKeys(), console: true })
const server = createServer(toNodeHandler(handler)).on('clientError', answerClientError)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const address = server.address()
const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/console`

heading(`The console is at ${url}`)
line('Sign in with one of these API keys, and again with another one in a second window: each sees what the policy shows it.')
table([Object.fromEntries(keys)])
line('')

if (process.env.CI === undefined) {
  line('Ctrl-C stops it. The vault is a SQLite file in a temporary folder, which is removed then.')
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
} else {
  const { status, headers } = await fetch(url)
  line(`GET /console: ${status} ${headers.get('content-type')}`)
}

server.close()
server.closeAllConnections()
await handler.close()
await vault.close()
rmSync(folder, { recursive: true })
