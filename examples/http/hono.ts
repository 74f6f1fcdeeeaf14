/** The vault in a Hono application: `node --import ./scripts/resolve-sources.ts examples/http/hono.ts` */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createHandler } from 'strongroom/http'
import { announce, authenticate, port, vault } from './customers.ts'

const handler = createHandler({ vaults: vault, authenticate, baseUrl: '/vault' })
const app = new Hono()
// The bindings hold the address of the client, for audit events.
app.all('/vault/*', (context) => handler(context.req.raw, context.env))
app.get('/', (context) => context.text('The application itself.'))

serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, announce)
