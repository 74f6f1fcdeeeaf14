/** Law: whatever is sent to a handler, it answers, with a status that the route documents and an envelope within its bounds. */
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { parseOptions } from '../../src/http/options.ts'
import { createRouteFinder } from '../../src/http/router/find-route.ts'
import type { Route } from '../../src/http/router/route.ts'
import { createRoutes } from '../../src/http/routes/routes.ts'
import { column, isVaultError } from '../../src/index.ts'
import { faultsOfAnswer } from '../support/http/answer-faults.ts'
import type { HttpVocabulary } from '../support/http/http-vocabulary.ts'
import { randomSent, type Sent } from '../support/http/random-http-requests.ts'
import { type Distortion, knownCallers, serveRouter } from '../support/http/serve-router.ts'
import type { Wire, WireAnswer } from '../support/http/wire.ts'
import { type Canaries, createCanaries } from '../support/leaks/canaries.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import { openLoose } from '../support/vaults/open-untyped.ts'
import { CLERK, OWNER, people } from '../support/vaults/test-vault.ts'
import type { Law } from './law.ts'

/** Requests of a case. */
const REQUESTS = 200

export const httpStatuses: Law = {
  name: 'http-statuses',
  statement:
    'Whatever is sent, a handler answers a status that the route documents, in an envelope that repeats no value, and stays up',
  unit: 'requests',
  figures: { test: 1000, soak: 1_000_000 },
  weight: 2,
  open: () => ({
    async check({ random }) {
      const faults = await faultsOfStatuses(random, REQUESTS)
      if (faults.length > 0) throw new Error(faults.join('\n'))
      return REQUESTS
    },
  }),
}

const GOOD_CREDENTIALS: readonly string[] = ['owner', 'clerk', 'reader']
const CODE = { token: 'deterministic', columnGroup: 'kin' } as const
const TABLES = {
  ...people.tables,
  people: { ...people.tables.people, code: column.string(CODE) },
  cards: { name: column.string({ token: 'random' }), email: column.string({ unique: true }), code: column.string(CODE) },
  papers: { title: column.string(), scan: column.file() },
}
const POLICY = { reader: ['ALLOW READ, CREATE, DETOKENIZATION ON people.* WITH REDACTION = MASKED'] }

/** Sends random requests to a vault of its own. Returns a line for each fault. */
export async function faultsOfStatuses(random: SeededRandom, requests: number, distort?: Distortion): Promise<string[]> {
  const options = { limits: { maxBodyBytes: 100_000 } }
  const { vault, session } = await openLoose(memoryStorage(), TABLES, { policy: POLICY })
  const canaries = createCanaries(random)
  const authenticate = knownCallers({ owner: OWNER, clerk: CLERK, reader: { ...CLERK, roles: ['reader'] } })
  const served = await serveRouter({ vaults: vault, authenticate, ...options }, distort)
  const rejections: unknown[] = []
  const onRejection = (reason: unknown): void => void rejections.push(reason)
  process.on('unhandledRejection', onRejection)
  try {
    const { records } = await session.insert(
      'people',
      Array.from({ length: 40 }, (_, number) => ({ fields: { name: 'Ann', email: `ann${number}@acme.example`, code: 'Kin' } })),
      { tokenization: true },
    )
    const routes = createRoutes(parseOptions({ vaults: vault, authenticate, ...options }))
    const vocabulary: HttpVocabulary = {
      routes,
      vaultIDs: [...Array(20).fill('v1'), 'v9'],
      tables: ['people', 'people', 'people', 'cards', 'orders', 'papers', 'nothing'],
      ids: records.map(({ id }) => id),
      tokens: records.flatMap(({ tokens }) => Object.values(tokens)),
      credentials: [...Array(12).fill('owner'), ...GOOD_CREDENTIALS, 'unknown'],
      canary: String(canaries.make('STRING').value),
    }
    const faults = await faultsOfRequests(random, requests, { wire: served.wire(), vocabulary, canaries })
    return [...faults, ...rejections.map((reason) => `unhandled rejection: ${String(reason)}`)]
  } finally {
    process.off('unhandledRejection', onRejection)
    await served.close()
    await vault.close()
  }
}

interface Scene {
  readonly wire: Wire
  readonly vocabulary: HttpVocabulary
  readonly canaries: Canaries
}

async function faultsOfRequests(
  random: SeededRandom,
  requests: number,
  { wire, vocabulary, canaries }: Scene,
): Promise<string[]> {
  const faults: string[] = []
  const expect = expectation(vocabulary.routes)
  for (let number = 0; number < requests && faults.length < 5; number++) {
    const sent = randomSent(random, vocabulary)
    const answer = await answerOf(wire, sent)
    const found =
      typeof answer === 'string' ? [answer] : [...faultsOfAnswer(answer, ...expect(sent)), ...echoes(answer, canaries)]
    if (found.length > 0) faults.push(`${textOf(sent)}: ${found.join('; ')}\n  ${typeof answer === 'string' ? '' : answer.text}`)
  }
  return faults
}

function answerOf(wire: Wire, sent: Sent): Promise<WireAnswer | string> {
  const answer = 'bytes' in sent ? wire.sendBytes(sent.bytes) : wire.send(sent.request)
  return answer.catch((error: unknown) => String(error))
}

function echoes({ status, text, head }: WireAnswer, canaries: Canaries): string[] {
  const places = status < 400 ? [] : [text, head]
  return places.some((place) => canaries.findIn(place).size > 0) ? ['the error repeats a value of the request'] : []
}

function textOf(sent: Sent): string {
  const { bytes, request } = { bytes: '', request: undefined, ...sent }
  if (request === undefined) return JSON.stringify(bytes.slice(0, 300))
  const { method, target, headers, body } = request
  return `${method} ${target.slice(0, 300)} ${JSON.stringify(headers)} ${String(body).slice(0, 600)}`
}

/**
 * Returns the statuses that a request can be answered with, and the content type of a 200: of bytes that are no request 400, of no route 404 or
 * 400, without a credential 401, and with a member of the query that the route does not have no success.
 */
function expectation(routes: readonly Route[]): (sent: Sent) => readonly [statuses: readonly number[], type?: string] {
  const find = createRouteFinder(routes)
  return (sent) => {
    if (!('request' in sent)) return [[400]]
    const { method, target, headers = {} } = sent.request
    try {
      const { route } = find(method, target.replace(/^https?:\/\/[^/]*/, '').split('?')[0] ?? '')
      const credential = headers.authorization?.replace(/^Bearer /, '') ?? ''
      if (route.access === 'bearer' && !GOOD_CREDENTIALS.includes(credential)) return [[401]]
      const members = [...new URLSearchParams(target.split('?').slice(1).join('?')).keys()]
      const isKnown = members.every((name) => Object.hasOwn(route.query ?? {}, name))
      const successes = isKnown ? [200, ...Object.keys(route.otherResponses ?? {}).map(Number)] : []
      return [[...successes, ...route.statuses], route.responseType ?? 'application/json']
    } catch (error) {
      return [[isVaultError(error, 'not_found') ? 404 : 400]]
    }
  }
}
