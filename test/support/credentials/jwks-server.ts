/** A server of key sets on a real socket. */
import { createServer, type ServerResponse } from 'node:http'

/** A running server. */
export interface JwksServer {
  readonly url: string
  /** Number of requests so far. */
  requests(): number
  /** Replaces the answer to the next requests. */
  answer(write: (response: ServerResponse) => unknown): void
  /** Answers with a key set from now on. */
  serve(keys: readonly object[]): void
  /** Ends the server and its connections. */
  stop(): Promise<void>
}

/** Starts a server on a spare port of this machine. */
export async function startJwksServer(keys: readonly object[]): Promise<JwksServer> {
  const keySet =
    (served: readonly object[]) =>
    (response: ServerResponse): unknown =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: served }))
  let write = keySet(keys)
  let count = 0
  const server = createServer((_request, response) => {
    count++
    write(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port.')
  return {
    url: `http://127.0.0.1:${address.port}/keys`,
    requests: () => count,
    answer(next) {
      write = next
    },
    serve(next) {
      write = keySet(next)
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
