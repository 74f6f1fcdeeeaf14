/** Benchmark: requests over HTTP, against the service that a user would write instead; and the router alone, against node:http. */
import * as z from 'zod'
import { memoryStorage } from '../../src/adapters/memory/index.ts'
import { at, required } from '../../src/core/util/lists.ts'
import { createNodeHandler } from '../../src/http/edges/node-edge.ts'
import { createApiKey } from '../../src/http/index.ts'
import { jsonResponse } from '../../src/http/router/json-response.ts'
import type { Route } from '../../src/http/router/route.ts'
import { createRouter } from '../../src/http/router/router.ts'
import { fillPlainStore, type PlainFilling } from '../baselines/plain-store.ts'
import { COLUMNS } from '../fixtures/people.ts'
import { OWNER, openServedVault, VAULT } from '../fixtures/people-vaults.ts'
import { assertSame } from '../measuring/check-reads.ts'
import { compare } from '../measuring/compare.ts'
import { measure, measurePair, type Variant } from '../measuring/harness.ts'
import { type LoadSender, listen, startLoadSender, wireRequest } from '../measuring/http-load.ts'
import { median } from '../measuring/median.ts'
import { cpuClock, type Service, type ServiceInput, startService } from '../measuring/services.ts'
import { openPlace, type VaultPlace } from '../measuring/writers.ts'
import type { Entry, StorageName } from '../report/result-shape.ts'
import { BATCH, type Benchmark, type RunConfig } from '../runner/run-config.ts'

export const httpBenchmark: Benchmark = {
  names: ['http'],
  storages: {
    sqlite: (config) => measureHttp(config, () => ({ kind: 'sqlite', filename: config.environments.sqliteFile() })),
    postgres(config) {
      const { connectionString: url = '' } = config.environments.postgresPool().options
      return measureHttp(config, () => ({ kind: 'postgres', url, schema: config.environments.postgresName() }))
    },
    none: measureRouter,
  },
}

/** Records present, at most. */
const MAX_ROWS = 10_000
/** Requests of each kind, which are sent again and again. */
const REQUESTS = 1000
/** Minimum ratio of requests per second. */
const RATE = 1.3
/** Maximum ratio of the CPU of the server and its database. */
const CPU = 0.75

/** A number of connections. One has no target: it shares nothing with others. */
const CONNECTIONS = [64, 1] as const

const KINDS = ['get', 'detokenize', 'insert'] as const
type Kind = (typeof KINDS)[number]

/** A side of the comparison: what starts its service, and its requests. */
interface Side {
  readonly input: Omit<ServiceInput, 'workers'>
  readonly requests: Readonly<Record<Kind, readonly string[]>>
}

async function measureHttp(config: RunConfig, newPlace: () => VaultPlace): Promise<Entry[]> {
  const [ours, baseline] = await fillSides(config, newPlace)
  const sender = startLoadSender()
  const entries: Entry[] = []
  for (const workers of config.scale.workers) {
    const services = await Promise.all([ours, baseline].map(({ input }) => startService({ ...input, workers })))
    const sides = { ours: { ...ours, service: at(services, 0) }, baseline: { ...baseline, service: at(services, 1) } }
    await checkAnswers(sides)
    // One connection has one worker, however many there are.
    for (const connections of workers === 1 ? CONNECTIONS : [CONNECTIONS[0]]) {
      for (const kind of KINDS) entries.push(...(await measureKind(config, { kind, connections, workers, sender, sides })))
    }
    await Promise.all(services.map((service) => service.stop()))
  }
  await sender.close()
  return entries
}

/** Returns the number of records present. */
function rowsOf({ rows }: RunConfig['scale']): number {
  return Math.min(rows, MAX_ROWS)
}

/** Fills a vault and a plain store with the same people. */
async function fillSides({ scale, people }: RunConfig, newPlace: () => VaultPlace): Promise<readonly [Side, Side]> {
  const [place, plainPlace] = [newPlace(), newPlace()]
  const batch = people.next(rowsOf(scale))
  const plain = await fillPlainStore(plainPlace, batch)
  const vault = await openServedVault(openPlace(place))
  const session = vault.as(OWNER)
  const stored: { readonly id: string; readonly token: string }[] = []
  for (let from = 0; from < batch.length; from += BATCH) {
    const { records } = await session.insert('people', batch.slice(from, from + BATCH), { tokenization: true })
    for (const { id, tokens } of records) stored.push({ id, token: required(tokens.ssn, 'the token of "ssn"') })
  }
  const { apiKey } = await createApiKey(session, { name: 'billing', roles: ['VAULT_OWNER'] })
  await vault.close()
  const positions = Array.from({ length: REQUESTS }, () => people.below(batch.length))
  const inserted = people.next(REQUESTS)
  const requestsOf = (credential: string, own: typeof stored | PlainFilling['people']) => {
    const path = `/v1/vaults/${VAULT}`
    const post = (what: string, body: unknown) => wireRequest({ method: 'POST', path: `${path}/${what}`, credential, body })
    const chosen = positions.map((position) => at(own, position))
    return {
      get: chosen.map(({ id }) => wireRequest({ method: 'GET', path: `${path}/people/${id}`, credential })),
      detokenize: chosen.map(({ token }) =>
        post('detokenize', { detokenizationParameters: [{ token, redaction: 'PLAIN_TEXT' }] }),
      ),
      insert: inserted.map((record) => post('people', { records: [record], tokenization: true })),
    }
  }
  return [
    { input: { side: 'vault', place }, requests: requestsOf(apiKey, stored) },
    { input: { side: 'express', place: plainPlace }, requests: requestsOf(plain.apiKey, plain.people) },
  ]
}

type RunningSide = Side & { readonly service: Service }

interface Sides {
  readonly ours: RunningSide
  readonly baseline: RunningSide
}

/** Throws unless both sides answer the same person and the same value. */
async function checkAnswers(sides: Sides): Promise<void> {
  const [person, plainPerson] = await Promise.all([answerTo(sides.ours, 'get'), answerTo(sides.baseline, 'get')])
  assertSame(
    COLUMNS.map((name) => person.fields?.[name]),
    COLUMNS.map((name) => plainPerson.fields?.[name]),
  )
  const [values, plainValues] = await Promise.all([answerTo(sides.ours, 'detokenize'), answerTo(sides.baseline, 'detokenize')])
  assertSame(at(values.records ?? [], 0).value, at(plainValues.records ?? [], 0).value)
}

const answerShape = z.object({
  fields: z.record(z.string(), z.unknown()).optional(),
  records: z.array(z.object({ value: z.string() })).optional(),
})

async function answerTo({ service, requests }: RunningSide, kind: Kind): Promise<z.infer<typeof answerShape>> {
  const [head = '', body = ''] = at(requests[kind], 0).split('\r\n\r\n')
  const [method = 'GET', path = '/'] = head.split(' ')
  const headers = { authorization: /authorization: (.*)/.exec(head)?.[1] ?? '', 'content-type': 'application/json' }
  const url = `http://127.0.0.1:${service.port}${path}`
  const response = await fetch(url, { method, headers, ...(body === '' ? {} : { body }) })
  return answerShape.parse(await response.json())
}

interface Measuring {
  readonly kind: Kind
  readonly connections: number
  readonly workers: number
  readonly sender: LoadSender
  readonly sides: Sides
}

async function measureKind({ scale }: RunConfig, { kind, connections, workers, sender, sides }: Measuring): Promise<Entry[]> {
  const late: { ours: number[]; baseline: number[] } = { ours: [], baseline: [] }
  const variantOf = (side: keyof Sides, name: string): Variant => ({
    name,
    async run() {
      const { service, requests } = sides[side]
      const { sent, p99 } = await sender.send({
        port: service.port,
        connections,
        requests: requests[kind],
        milliseconds: scale.loadTime,
      })
      late[side].push(p99)
      return sent
    },
  })
  const { place } = sides.ours.input
  const url = place.kind === 'postgres' ? place.url : undefined
  const cpu = await cpuClock([...sides.ours.service.pids, ...sides.baseline.service.pids], url)
  const clocks = { now: () => performance.now(), cpu: cpu ?? (() => 0) }
  const variants = [variantOf('ours', 'strongroom/http'), variantOf('baseline', 'Express 5 on plaintext')]
  const measured = await measure(variants, { ...scale.callTiming, clocks })
  const storage: StorageName = place.kind
  const title = `http ${kind}, ${connections} connection${connections === 1 ? '' : 's'}`
  const subject = { benchmark: workers === 1 ? title : `${title}, ${workers} workers`, storage, rows: rowsOf(scale) }
  const { cpu: spent, ...entry } = compare(subject, at(measured, 0), at(measured, 1))
  const unit = { unit: 'ms', lowerIsBetter: true } as const
  const times = { figure: median(late.ours), baseline: entry.baseline, baselineFigure: median(late.baseline) }
  return [
    { ...entry, unit: 'calls/s', ...(connections > 1 && workers === 1 ? { target: RATE } : {}) },
    ...(spent === undefined || cpu === undefined ? [] : [cpuEntry(entry, spent, connections > 1 ? CPU : undefined)]),
    {
      ...subject,
      benchmark: `${subject.benchmark}, 99 % of requests within`,
      ...times,
      ratio: times.figure / times.baselineFigure,
      ...unit,
    },
  ]
}

/** Returns the entry of the CPU of a request, in microseconds of the server and its database. */
function cpuEntry(entry: Omit<Entry, 'cpu'>, spent: NonNullable<Entry['cpu']>, target: number | undefined): Entry {
  const { benchmark, storage, rows, baseline } = entry
  return {
    ...{ benchmark: `${benchmark}, CPU`, storage, rows, baseline, unit: 'us', lowerIsBetter: true },
    ...{ figure: spent.figure, baselineFigure: spent.baselineFigure, ratio: 1 / spent.ratio },
    ...(target === undefined ? {} : { target }),
  }
}

/** The record that both servers of the router's measurement answer. */
const RECORD = { fields: { svc_id: '5a4bc4ef-11f5-4c08-9887-d943d109abf6', name: 'Ann', city: 'Lyon' } }

/** A route that only answers a constant. */
const CONSTANT_ROUTE: Route = {
  ...{ access: 'open', method: 'GET', path: '/v1/vaults/{vaultID}/constants/{ID}', group: 'Records', summary: 'A constant.' },
  ...{ operation: undefined, verb: 'Get', statuses: [400, 500], response: z.object({}) },
  handle: async () => jsonResponse(200, RECORD),
}

/** Measures the router alone: a route that answers a constant, against node:http answering the same bytes. */
async function measureRouter(config: RunConfig): Promise<Entry[]> {
  const vault = await openServedVault(memoryStorage())
  const router = createRouter({ vaults: vault, authenticate: async () => undefined }, () => [CONSTANT_ROUTE])
  const server = await listen(createNodeHandler(router))
  const sender = startLoadSender()
  const path = '/v1/vaults/bench/constants/5a4bc4ef-11f5-4c08-9887-d943d109abf6'
  const requests = [wireRequest({ method: 'GET', path, credential: 'benchmark' })]
  const response = await fetch(`http://127.0.0.1:${server.port}/v1/vaults/bench/constants/5`)
  const constant = await response.text()
  const headers = Object.fromEntries(
    [...response.headers].filter(([name]) => !['date', 'connection', 'keep-alive'].includes(name)),
  )
  const baseline = await listen((_, answer) => {
    answer.writeHead(200, headers)
    answer.end(constant)
  })
  const milliseconds = config.scale.loadTime
  const load = (name: string, port: number): Variant => {
    let senderCpu = 0
    return {
      name,
      senderCpu: () => senderCpu,
      async run() {
        const { sent, cpu } = await sender.send({ port, connections: 32, requests, milliseconds })
        senderCpu = cpu
        return sent
      },
    }
  }
  const pair = { ours: load('strongroom/http', server.port), baseline: load('node:http, a constant', baseline.port) }
  const subject = { benchmark: 'http router, 32 connections', storage: 'none', rows: 0, target: 0.65 } as const
  const entry = await measurePair(subject, pair, config.scale.callTiming)
  server.close()
  baseline.close()
  await sender.close()
  await vault.close()
  return [entry]
}
