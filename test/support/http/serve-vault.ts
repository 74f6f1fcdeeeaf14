/** A vault behind a server of node:http on a spare port, and a client for it. */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Server as NetServer } from 'node:net'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import {
  type Authenticate,
  answerClientError,
  createHandler,
  type Handler,
  type HandlerOptions,
  toNodeHandler,
} from '../../../src/http/index.ts'
import type { Vault } from '../../../src/index.ts'
import { CLERK, OWNER, openPeople } from '../vaults/test-vault.ts'
import { type Answer, type AskOptions, ask, CLERK_CREDENTIAL, OWNER_CREDENTIAL } from './ask.ts'

/** How a vault is served. */
export interface ServeOptions {
  /** Where `people` of test-vault.ts is opened as the vault `v1`; or give an open vault. */
  readonly storage?: StorageHandle
  /** An open vault, which is closed at the end. */
  readonly vault?: Vault
  /** Options of the handler in place of the defaults. */
  readonly handler?: Partial<HandlerOptions>
  /** Returns what the server calls. Default: `toNodeHandler`. */
  readonly listener?: (handler: Handler) => RequestListener
}

/** A vault that is served. */
export interface ServedVault {
  readonly vault: Vault
  readonly handler: Handler
  readonly server: Server
  readonly port: number
  /** Sends a request, as the owner of the vault if nothing else is said. */
  ask(method: string, path: string, options?: AskOptions): Promise<Answer>
  /** Stops the server, and closes the handler and the vault. */
  close(): Promise<void>
}

/** Serves a vault. The caller closes it. */
export async function serveVault({
  storage,
  vault: given,
  handler: options,
  listener = toNodeHandler,
}: ServeOptions): Promise<ServedVault> {
  const vault = given ?? (await openOn(storage))
  const handler = createHandler({ vaults: vault, authenticate: testCredentials, ...options })
  const listening = listener(handler)
  const server = createServer({ requireHostHeader: false }, listening)
    .on('checkExpectation', listening)
    .on('clientError', answerClientError)
    .on('connect', answerClientError)
  const port = await listen(server)
  return {
    vault,
    handler,
    server,
    port,
    ask: (method, path, asked) => ask(port, [method, path], asked),
    async close() {
      await stop(server)
      await handler.close()
      await vault.close()
    },
  }
}

/** Accepts the credentials of the owner and of the clerk, of whatever vault. */
export const testCredentials: Authenticate = async ({ credential }) => {
  const caller = { [OWNER_CREDENTIAL]: OWNER, [CLERK_CREDENTIAL]: CLERK }[credential]
  return caller === undefined ? undefined : { caller, credential: { authMode: 'API_KEY', keyID: 'test' } }
}

/** Starts a server on a port of this machine, by default a spare one, and returns the port. */
export function listen(server: NetServer, port = 0): Promise<number> {
  return new Promise((resolve) => {
    // A server on a port has an address of this form.
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}

/** Stops a server and ends its connections. */
export async function stop(server: Server): Promise<void> {
  const stopped = new Promise((resolve) => server.close(resolve))
  server.closeAllConnections()
  await stopped
}

function openOn(storage: StorageHandle | undefined): Promise<Vault> {
  if (storage === undefined) throw new Error('Give a storage or a vault.')
  return openPeople(storage)
}
