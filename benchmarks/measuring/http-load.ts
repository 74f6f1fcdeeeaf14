/** Measures a server under load: many connections, from another thread. */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { LoadRequest, LoadResult } from './http-load-worker.ts'

/** A thread that sends requests. */
export interface LoadSender {
  /** Sends requests. Throws if a response has another status than 200. */
  send(load: LoadRequest): Promise<LoadResult>
  close(): Promise<unknown>
}

export function startLoadSender(): LoadSender {
  const worker = new Worker(new URL('http-load-worker.ts', import.meta.url))
  const run = (load: LoadRequest): Promise<LoadResult> =>
    new Promise((resolve, reject) => {
      worker.once('error', reject)
      worker.once('message', (result: LoadResult) => {
        worker.off('error', reject)
        resolve(result)
      })
      worker.postMessage(load)
    })
  return {
    async send(load) {
      const result = await run(load)
      if (Object.keys(result.failed).length > 0) throw new Error(`Unexpected statuses: ${JSON.stringify(result.failed)}`)
      return result
    },
    close: () => worker.terminate(),
  }
}

/** Starts a server on a spare port. */
export async function listen(listener: RequestListener): Promise<{ readonly port: number; close(): void }> {
  const server: Server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server on a port has an address with a port.
  const { port } = server.address() as AddressInfo
  return {
    port,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** A request, and the credential of its caller. */
export interface WireRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly credential: string
  readonly body?: unknown
}

/** Returns a request as it goes over the wire. */
export function wireRequest({ method, path, credential, body }: WireRequest): string {
  const text = body === undefined ? '' : JSON.stringify(body)
  const length = body === undefined ? '' : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n`
  return `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${credential}\r\n${length}\r\n${text}`
}
