/** Creates the handler of a host: one router, with the edges that servers call. */

import type { ClosedByUsing } from '../core/util/causes.ts'
import { VaultError } from '../index.ts'
import { createFetchHandler, type FetchHandler } from './edges/fetch-edge.ts'
import { createNodeHandler, type NodeHandler } from './edges/node-edge.ts'
import type { HandlerOptions } from './options.ts'
import { createRouter, type Router } from './router/router.ts'

/** Handles web requests: Hono, Next.js, Bun and Deno take it as it is. `toNodeHandler` makes a handler for node:http of it. */
export interface Handler extends FetchHandler, ClosedByUsing {
  /** Closes the vaults that the handler opened. Vaults that were passed to it stay open. */
  close(): Promise<void>
}

/** The router of each handler. */
const ROUTERS = new WeakMap<Handler, Router>()

/** Returns a handler that serves vaults over HTTP. Throws `invalid_request` for a wrong option. */
export function createHandler(options: HandlerOptions): Handler {
  const router = createRouter(options)
  const handler = Object.assign(createFetchHandler(router), {
    close: () => router.close(),
    [Symbol.asyncDispose]: () => router.close(),
  })
  ROUTERS.set(handler, router)
  return handler
}

/** Returns the same handler for node:http, Express, Fastify and Koa. Throws `invalid_request` for any other function. */
export function toNodeHandler(handler: Handler): NodeHandler {
  const router = ROUTERS.get(handler)
  if (router === undefined) throw new VaultError('invalid_request', 'toNodeHandler takes what createHandler returned.')
  return createNodeHandler(router)
}
