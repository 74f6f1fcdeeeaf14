/** The vault behind node:http, without a framework: `node --import ./scripts/resolve-sources.ts examples/http/node-http.ts` */
import { createServer } from 'node:http'
import { answerClientError, createHandler, toNodeHandler } from 'strongroom/http'
import { announce, authenticate, port, vault } from './customers.ts'

const handler = createHandler({ vaults: vault, authenticate, baseUrl: '/vault' })
const listener = toNodeHandler(handler)
const server = createServer({ requireHostHeader: false }, listener)
// What Node would answer by itself gets the error envelope too: requests that are not well-formed, lack a Host, or expect something.
server.on('clientError', answerClientError).on('connect', answerClientError).on('checkExpectation', listener)
server.listen(port, '127.0.0.1', () => announce(server.address()))
