/** Starts the built application, asks its route once, and stops. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import next from 'next'

const app = next({ dev: false })
await app.prepare()
const server = createServer(app.getRequestHandler())
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const response = await fetch(`http://127.0.0.1:${server.address().port}/api/vault`)
assert.deepEqual(await response.json(), { works: true })
process.exit(0)
