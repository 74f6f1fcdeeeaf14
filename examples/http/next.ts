/** The vault as a route handler of Next.js: the file `app/vault/[...path]/route.ts` of an application. `next-server.ts` serves it here. */
import { createHandler } from 'strongroom/http'
import { authenticate, vault } from './customers.ts'

const handler = createHandler({ vaults: vault, authenticate, baseUrl: '/vault' })

// The vault uses node:crypto, and its responses are never stored.
export const runtime = 'nodejs'
export const dynamic = 'force-dynamic'
export const GET = handler
export const POST = handler
export const PUT = handler
export const DELETE = handler
