/** Law: HTTP requests whose clients go away, at whatever byte, leave nothing open. */
import { readdirSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import type { Vault } from '../../src/index.ts'
import { OWNER_CREDENTIAL } from '../support/http/ask.ts'
import { openRaw } from '../support/http/raw-connection.ts'
import { type ServedVault, serveVault } from '../support/http/serve-vault.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import { engineInTurn, onFresh, openPlaces } from '../support/storages/places.ts'
import { OWNER, openPeople } from '../support/vaults/test-vault.ts'
import type { Law } from './law.ts'

/** Requests of a case, and how many of them run at a time. */
const REQUESTS = 100
const AT_ONCE = 10
/** Records of each insert. */
const RECORDS = 3
/** Time after which what is still open is open for good, in milliseconds. */
const PATIENCE_MS = 20_000

export const httpAborts: Law = {
  name: 'http-aborts',
  statement: 'Requests whose clients go away at any byte leave no open transaction, descriptor or half of a change',
  unit: 'aborted requests',
  figures: { test: 600, soak: 10_000 },
  weight: 1,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      check: ({ number, random }) =>
        onFresh(engineInTurn(places, number), async (place) => {
          const served = await serveVault({ vault: await openPeople(place.open()) })
          try {
            return await abortRequests(served, random)
          } finally {
            await served.close()
          }
        }),
      close: () => places.close(),
    }
  },
}

/** Sends requests and goes away. Returns how many. Throws if one leaves something behind. */
export async function abortRequests(served: ServedVault, random: SeededRandom, patienceMs = PATIENCE_MS): Promise<number> {
  await assertFree(served.vault, patienceMs)
  const before = openDescriptors()
  for (let sent = 0; sent < REQUESTS; sent += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => abortOne(served.port, random)))
  }
  await eventually(() => openDescriptors() <= before, { patienceMs, otherwise: 'descriptors stayed open' })
  await assertFree(served.vault, patienceMs)
  return REQUESTS
}

/** Sends a part of a request, or all of it, and goes away, with or without a good-bye. */
async function abortOne(port: number, random: SeededRandom): Promise<void> {
  const text = random.pick([insertRequest, insertRequest, listRequest, queryRequest])()
  const sent = random.chance(0.5) ? text : text.slice(0, random.below(text.length))
  const isReset = random.chance(0.5)
  const connection = await openRaw(port)
  connection.send(sent)
  // The request is received, runs, or is answered by then.
  if (random.chance(0.7)) await setTimeout(random.below(6))
  if (isReset) connection.reset()
  else connection.socket.end()
  await connection.untilEnd()
  connection.socket.destroy()
}

const HEAD = `HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${OWNER_CREDENTIAL}\r\nContent-Type: application/json\r\n`

function insertRequest(): string {
  const records = Array.from({ length: RECORDS }, () => ({ fields: { name: 'Ann', notes: 'x'.repeat(500) } }))
  const body = JSON.stringify({ records })
  return `POST /v1/vaults/v1/people ${HEAD}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
}

function listRequest(): string {
  return `GET /v1/vaults/v1/people?redaction=PLAIN_TEXT ${HEAD}\r\n`
}

function queryRequest(): string {
  const body = JSON.stringify({ query: 'select name from people' })
  return `POST /v1/vaults/v1/query ${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`
}

/** Throws if a transaction is open, which a deletion of all would wait for, or if a part of an insert is stored. */
async function assertFree(vault: Vault, patienceMs: number): Promise<void> {
  const session = vault.as(OWNER)
  const work = async (): Promise<void> => {
    const { records } = await session.query('select count(*) as n from people')
    const count = Number(records[0]?.fields.n)
    if (count % RECORDS !== 0) throw new Error(`A part of an insert is stored: there are ${count} records.`)
    if (count > 0) await session.delete('people', '*')
  }
  const patience = new AbortController()
  const late = setTimeout(patienceMs, undefined, { signal: patience.signal }).then(() => {
    throw new Error('A transaction stayed open.')
  })
  late.catch(() => {})
  await Promise.race([work(), late]).finally(() => patience.abort())
}

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length
}

async function eventually(
  isReached: () => boolean,
  { patienceMs, otherwise }: { readonly patienceMs: number; readonly otherwise: string },
): Promise<void> {
  for (let waited = 0; !isReached(); waited += 10) {
    if (waited >= patienceMs) throw new Error(otherwise)
    await setTimeout(10)
  }
}
