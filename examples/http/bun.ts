/** The vault on Bun: `bun examples/http/bun.ts` */
import { createHandler, type Handler } from 'strongroom/http'
import { announce, authenticate, port, vault } from './customers.ts'

/** What this example uses of Bun. An application takes the package `@types/bun`. */
declare const Bun: { serve(options: { port: number; hostname: string; fetch: Handler }): { readonly port: number } }

// Bun passes its server beside each request, which has the address of the client for audit events.
const server = Bun.serve({
  port,
  hostname: '127.0.0.1',
  fetch: createHandler({ vaults: vault, authenticate, baseUrl: '/vault' }),
})
announce(server)
