/** Serves the route handler of next.ts as Next.js does, by method: `node --import ./scripts/resolve-sources.ts examples/http/next-server.ts` */
import { serve } from '@hono/node-server'
import { announce, port } from './customers.ts'
import * as route from './next.ts'

const METHODS = new Map([
  ['GET', route.GET],
  ['POST', route.POST],
  ['PUT', route.PUT],
  ['DELETE', route.DELETE],
])

serve(
  {
    fetch(request) {
      const { pathname } = new URL(request.url)
      const handle = METHODS.get(request.method)
      if (!pathname.startsWith('/vault/') || handle === undefined) return new Response(null, { status: 405 })
      return handle(request, { params: Promise.resolve({ path: pathname.split('/').slice(2) }) })
    },
    port,
    hostname: '127.0.0.1',
  },
  announce,
)
