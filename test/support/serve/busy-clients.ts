/** Clients that keep their connections and send without pause, and note what became of each request. */
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { CUSTOMERS, type ServedProject } from './start-server.ts'

/** What became of requests. */
export interface ClientTally {
  /** Answered with 200. */
  answered: number
  /** Sent, and never answered. */
  lost: number
  /** Answered with another status, by status. */
  readonly others: Record<number, number>
  /** The emails of records whose insert was answered with 200. */
  readonly stored: string[]
}

/** How clients send. */
export interface BusyClients {
  readonly port: number
  readonly apiKey: string
  readonly count: number
  /** In front of every email. */
  readonly name: string
  /** Called with the tally after each answer. */
  onAnswer?(tally: ClientTally): void
}

/** Sends from all clients until the port refuses connections, or until `isOver`. Every third request is an insert. */
export async function sendWithoutPause(clients: BusyClients, isOver: () => boolean = () => false): Promise<ClientTally> {
  const tally: ClientTally = { answered: 0, lost: 0, others: {}, stored: [] }
  await Promise.all(
    Array.from({ length: clients.count }, async (_, index) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      for (let number = 0; !isOver(); number++) {
        const email = number % 3 === 0 ? `${clients.name}-${index}-${number}@acme.example` : undefined
        const outcome = await send(clients, agent, email)
        if (outcome === 'refused') break
        if (outcome === 'lost') {
          tally.lost++
          // Whether it was stored is not known.
          await pause(5)
        } else if (outcome === 200) {
          tally.answered++
          if (email !== undefined) tally.stored.push(email)
        } else tally.others[outcome] = (tally.others[outcome] ?? 0) + 1
        clients.onAnswer?.(tally)
      }
      agent.destroy()
    }),
  )
  return tally
}

/** Returns the emails that are not stored. */
export function missingFrom({ withVault }: ServedProject, emails: readonly string[]): Promise<string[]> {
  return withVault(async (vault) => {
    const owner = vault.as({ actor: 'test', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] })
    const there = new Set<unknown>()
    for await (const page of owner.pages('customers', { fields: ['email'] }))
      for (const { fields } of page.records) there.add(fields.email)
    return emails.filter((email) => !there.has(email))
  })
}

function send({ port, apiKey }: BusyClients, agent: Agent, email: string | undefined): Promise<number | 'lost' | 'refused'> {
  const body = email === undefined ? undefined : JSON.stringify({ records: [{ fields: { name: 'Ann', email } }] })
  const headers = {
    authorization: `Bearer ${apiKey}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
  }
  const options = {
    host: '127.0.0.1',
    port,
    path: `${CUSTOMERS}${body === undefined ? '?limit=1' : ''}`,
    method: body === undefined ? 'GET' : 'POST',
    agent,
    headers,
  }
  return new Promise((resolve) => {
    const outgoing = request(options, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
      response.on('error', () => resolve('lost'))
    })
    outgoing.on('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED' ? 'refused' : 'lost'))
    outgoing.end(body)
  })
}
