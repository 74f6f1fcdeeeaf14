/** The vault in an Express 5 application: `node --import ./scripts/resolve-sources.ts examples/http/express.ts` */
import express from 'express'
import { answerClientError, createHandler, toNodeHandler } from 'strongroom/http'
import { announce, authenticate, port, vault } from './customers.ts'

const app = express()
// Before the parsers of bodies: the vault then sees bodies byte by byte. After `express.json()` it works as well.
app.use('/vault', toNodeHandler(createHandler({ vaults: vault, authenticate, baseUrl: '/vault' })))
app.use(express.json())
app.get('/', (_request, response) => {
  response.send('The application itself.')
})

const server = app.listen(port, '127.0.0.1', () => announce(server.address()))
server.on('clientError', answerClientError)
