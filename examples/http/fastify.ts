/** The vault as a plugin of Fastify 5: `node --import ./scripts/resolve-sources.ts examples/http/fastify.ts` */
import Fastify from 'fastify'
import { answerClientError, createHandler, toNodeHandler } from 'strongroom/http'
import { announce, authenticate, port, vault } from './customers.ts'

const handle = toNodeHandler(createHandler({ vaults: vault, authenticate, baseUrl: '/vault' }))
const app = Fastify({ clientErrorHandler: answerClientError })

await app.register(
  async (plugin) => {
    // The vault reads bodies itself, so that uploads stream.
    plugin.removeAllContentTypeParsers()
    plugin.addContentTypeParser('*', (_request, _body, done) => done(null))
    plugin.all('/*', (request, reply) => handle(request.raw, reply.hijack().raw))
  },
  { prefix: '/vault' },
)
app.get('/', async () => 'The application itself.')

await app.listen({ port, host: '127.0.0.1' })
announce(app.addresses()[0])
