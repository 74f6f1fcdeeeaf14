/** An HTTP server that takes events, and fails where a test says so. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { onTestFinished } from 'vitest'
import { listen, stop } from '../http/serve-vault.ts'

export interface TakenRequest {
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** What the server does with a request that it has read. `lost`: takes it, and the response does not arrive. */
export type Answer =
  | 'take'
  | 'drop'
  | 'lost'
  | 'hang'
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }

export interface EventServer {
  readonly url: URL
  /** Requests that were taken. */
  readonly taken: TakenRequest[]
  /** Number of all requests. */
  requests: number
  answer: (request: TakenRequest) => Answer
  lines(): string[]
  stop(): Promise<void>
}

export async function eventServer(port = 0): Promise<EventServer> {
  const taken: TakenRequest[] = []
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const read = { headers: request.headers, body: Buffer.concat(pieces).toString('utf8') }
    server.requests++
    const answer = server.answer(read)
    if (answer === 'take' || answer === 'lost') taken.push(read)
    if (answer === 'drop' || answer === 'lost') request.socket.destroy()
    else if (answer === 'take') response.writeHead(204).end()
    else if (answer !== 'hang') response.writeHead(answer.status, answer.headers).end(answer.body)
  }
  const http = createServer((request, response) => void respond(request, response).catch(() => {}))
  const server: EventServer = {
    url: new URL(`http://127.0.0.1:${await listen(http, port)}/in`),
    taken,
    requests: 0,
    answer: () => 'take',
    lines: () => taken.flatMap(({ body }) => body.split('\n').filter((line) => line !== '')),
    stop: () => stop(http),
  }
  onTestFinished(async () => {
    if (http.listening) await stop(http)
  })
  return server
}
