/** The vault in a Koa 3 application: `node --import ./scripts/resolve-sources.ts examples/http/koa.ts` */
import Koa from 'koa'
import { answerClientError, createHandler, toNodeHandler } from 'strongroom/http'
import { announce, authenticate, port, vault } from './customers.ts'

const handle = toNodeHandler(createHandler({ vaults: vault, authenticate, baseUrl: '/vault' }))
const app = new Koa()
app.use((context, next) => {
  if (!context.path.startsWith('/vault/')) return next()
  // The handler sends the response itself.
  context.respond = false
  return handle(context.req, context.res)
})
app.use((context) => {
  context.body = 'The application itself.'
})

const server = app.listen(port, '127.0.0.1', () => announce(server.address()))
server.on('clientError', answerClientError)
