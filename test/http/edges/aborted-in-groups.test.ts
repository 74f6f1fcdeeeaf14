/** Requests that share storage calls and a commit, some of whose clients go away: the others are answered, and each has its one event. */
import { expect, it } from 'vitest'
import { toNodeHandler } from '../../../src/http/index.ts'
import type { Vault } from '../../../src/index.ts'
import { eventsOf } from '../../support/audit/audited-clients.ts'
import { OWNER_CREDENTIAL } from '../../support/http/ask.ts'
import { lastResponse, openRaw, type RawConnection } from '../../support/http/raw-connection.ts'
import { serveVault } from '../../support/http/serve-vault.ts'
import { type Engine, onEachStorage } from '../../support/storages/engines.ts'
import { type CommitMoment, watchedCommits } from '../../support/storages/watched-commits.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const REQUESTS = 30
/** Those whose clients go away: one of each kind, the first and the last among them. */
const GONE: ReadonlySet<number> = new Set([0, 16, 29])

/** A request, by the id that its event has, and how its answer looks. */
interface Sent {
  readonly id: string
  readonly text: string
  readonly answer: RegExp
}

/** A record that reads are about. */
interface Known {
  readonly id: string
  readonly token: string
}

/** Returns a read, a detokenize or an insert. Those of one round have ids of one prefix. */
function requestOf(n: number, { id: record, token }: Known, prefix: string): Sent {
  const id = `${prefix}-0000-4000-8000-${String(n).padStart(12, '0')}`
  const [line, body, part] = [
    [`GET /v1/vaults/v1/people/${record}?redaction=PLAIN_TEXT`, undefined, '"name":"Ann"'],
    ['POST /v1/vaults/v1/detokenize', { detokenizationParameters: [{ token, redaction: 'PLAIN_TEXT' }] }, '"value":"Ann"'],
    ['POST /v1/vaults/v1/people', { records: [{ fields: { name: `${prefix} ${n}` } }] }, '"records":'],
  ][n % 3] as [string, unknown, string]
  const text = body === undefined ? '' : JSON.stringify(body)
  const head = [
    `${line} HTTP/1.1`,
    ...['Host: localhost', `Authorization: Bearer ${OWNER_CREDENTIAL}`, `X-Request-Id: ${id}`],
    ...(text === '' ? [] : ['Content-Type: application/json', `Content-Length: ${text.length}`]),
  ]
  return { id, text: `${head.join('\r\n')}\r\n\r\n${text}`, answer: new RegExp(`x-request-id: ${id}[^]*${part}.*\\}$`, 'i') }
}

/** The ids of the requests before, and of those whose clients go away. */
const FIRST = '00000001'
const SECOND = '00000002'

/** Sends requests of one turn, and ends the connections of some of them at a moment. Returns what the others received. */
async function sendAll(engine: Engine, moment: CommitMoment | 'sent') {
  const { storage, at, count } = watchedCommits(engine.fresh().open())
  // Routes use a vault by the names of its operations only.
  const vault = (await openPeople(storage)) as unknown as Vault
  const handled: Promise<void>[] = []
  const served = await serveVault({
    vault,
    listener(handler) {
      const handle = toNodeHandler(handler)
      return (request, response) => void handled.push(handle(request, response))
    },
  })
  // On a busy machine the first requests of all connections can take longer than Node leaves one of them idle.
  served.server.keepAliveTimeout = 60_000
  const inserted = await vault.as(OWNER).insert('people', [{ fields: { name: 'Ann' } }], { tokenization: true })
  const [record] = inserted.records
  const known = { id: record?.id ?? '', token: String(record?.tokens?.name) }
  const connections = await Promise.all(Array.from({ length: REQUESTS }, () => openRaw(served.port)))
  // A connection that has answered is accepted, so that the requests of all are there in one turn.
  await Promise.all(
    connections.map((connection, n) => {
      const first = requestOf(n, known, FIRST)
      connection.send(first.text)
      return connection.until(first.answer)
    }),
  )
  const requests = Array.from({ length: REQUESTS }, (_, n) => requestOf(n, known, SECOND))
  const gone = connections.filter((_, n) => GONE.has(n))
  const leave = (): Promise<void> => {
    for (const connection of gone) connection.reset()
    return goneOf(gone)
  }
  let arrived = 0
  served.server.on('request', () => void arrived++)
  if (moment !== 'sent') at(moment, { isDue: () => arrived === REQUESTS, run: leave })
  const before = count()
  for (const [n, connection] of connections.entries()) connection.send(requests[n]?.text ?? '')
  if (moment === 'sent') await leave()
  const received = await Promise.all(
    connections.map((connection, n) => (GONE.has(n) ? undefined : connection.until(requests[n]?.answer ?? /$/))),
  )
  const commits = count() - before
  return { served, vault, requests, received, commits, handled }
}

/** Resolves when these connections are closed on this side, and the server had turns to notice. */
async function goneOf(connections: readonly RawConnection[]): Promise<void> {
  await Promise.all(connections.map((connection) => connection.untilEnd().catch(() => {})))
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => void setImmediate(resolve))
}

onEachStorage('requests that share a commit', (engine) => {
  it.each(['sent', 'before', 'after'] as const)('are answered where clients go away: %s', async (moment) => {
    const { served, vault, requests, received, commits, handled } = await sendAll(engine, moment)
    const statuses = received.flatMap((text) => (text === undefined ? [] : [lastResponse(text).status]))
    expect(statuses).toEqual(Array(REQUESTS - GONE.size).fill(200))
    expect(commits).toBeLessThan(REQUESTS)
    // Operations whose clients went away are in progress for some time after the others are answered.
    await Promise.all(handled)
    const reader = vault.as(OWNER)
    const { records } = await reader.get('people', { redaction: 'PLAIN_TEXT', limit: 100 })
    const stored = new Set(records.map(({ fields }) => fields.name))
    const events = (await eventsOf(vault)).filter(({ context }) => context.requestID.startsWith(SECOND))
    for (const [n, { id }] of requests.entries()) {
      const own = events.filter(({ context }) => context.requestID === id)
      // A request that was cut off on its way may never have arrived.
      if (!GONE.has(n) || moment !== 'sent') expect(own.map(({ code }) => code)).toEqual([200])
      else expect(own.length).toBeLessThanOrEqual(1)
      if (n % 3 === 2) expect(stored.has(`${SECOND} ${n}`)).toBe(own.length === 1)
    }
    expect((await vault.verifyAudit()).ok).toBe(true)
    await served.close()
  })
})
