/** The vault behind node:http, without a framework: `node --import ./scripts/resolve-sources.ts examples/http/node-http.ts` */
import { createServer } from 'node:http'
import { answerClientError, createHandler, toNodeHandler } from 'strongroom/http'
import { announce, authenticate, port, vault } from './customers.ts'

const handler = createHandler({ vaults: vault, authenticate, baseUrl: '/vault' })
const server = createServer(toNodeHandler(handler))
// Requests that are not well-formed get the error envelope too.
server.on('clientError', answerClientError)
server.listen(port, '127.0.0.1', () => announce(server.address()))
