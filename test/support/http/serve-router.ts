/** A router behind a real server on a spare port, with an optional fault for negative controls. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerClientError } from '../../../src/http/edges/client-error.ts'
import { createNodeHandler } from '../../../src/http/edges/node-edge.ts'
import type { Authenticate } from '../../../src/http/index.ts'
import type { HandlerOptions } from '../../../src/http/options.ts'
import type { HttpRequest, HttpResponse } from '../../../src/http/router/http-message.ts'
import { createRouter } from '../../../src/http/router/router.ts'
import type { Caller } from '../../../src/index.ts'
import { openWire, type Wire } from './wire.ts'

/** A fault between router and server: what a broken router would answer. */
export type Distortion = (response: HttpResponse, request: HttpRequest) => HttpResponse | Promise<HttpResponse>

/** A router that is served. */
export interface ServedRouter {
  readonly port: number
  /** Opens another connection. */
  wire(): Wire
  /** Stops the server and ends its connections. */
  close(): Promise<void>
}

/** Serves the vaults of some options. The caller closes the server, and the vaults. */
export async function serveRouter(options: HandlerOptions, distort: Distortion = (response) => response): Promise<ServedRouter> {
  const router = createRouter(options)
  const handler = createNodeHandler({ ...router, respond: async (request) => distort(await router.respond(request), request) })
  const server = createServer(handler).on('clientError', answerClientError)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  // A server on a port has an address of this form.
  const { port } = server.address() as AddressInfo
  const wires: Wire[] = []
  return {
    port,
    wire() {
      const wire = openWire(port)
      wires.push(wire)
      return wire
    },
    async close() {
      for (const wire of wires) wire.close()
      const stopped = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await stopped
      await router.close()
    },
  }
}

/** Authenticates these callers by the texts of their credentials. */
export function knownCallers(callers: Readonly<Record<string, Caller>>): Authenticate {
  return async ({ credential }) => {
    const caller = Object.hasOwn(callers, credential) ? callers[credential] : undefined
    return caller === undefined ? undefined : { caller, credential: { authMode: 'API_KEY', keyID: 'test', jwtID: 'test' } }
  }
}
