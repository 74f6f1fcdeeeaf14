/** Benchmark: one request per operation over HTTP, 32 connections, against a server that only parses the body and answers a constant of the same size. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import * as z from 'zod'
import { localKeys } from '../../src/adapters/keys/index.ts'
import { memoryStorage } from '../../src/adapters/memory/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { at } from '../../src/core/util/lists.ts'
import { createNodeHandler } from '../../src/http/edges/node-edge.ts'
import { createHandler, toNodeHandler } from '../../src/http/index.ts'
import { jsonResponse } from '../../src/http/router/json-response.ts'
import type { Route } from '../../src/http/router/route.ts'
import { createRouter } from '../../src/http/router/router.ts'
import { column, createVault, defineSchema } from '../../src/index.ts'
import type { StorageHandle } from '../../src/storage-port.ts'
import { OWNER, SECRET, VAULT } from '../fixtures/people-vaults.ts'
import { measurePair, type Variant } from '../measuring/harness.ts'
import { type LoadSender, listen, startLoadSender, wireRequest } from '../measuring/http-load.ts'
import { median } from '../measuring/median.ts'
import type { Entry, StorageName } from '../report/result-shape.ts'
import type { Benchmark, RunConfig } from '../runner/run-config.ts'

const schema = defineSchema({
  people: {
    name: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }),
    email: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }),
    phone: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }),
    address: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }),
    ssn: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }),
    city: column.string({ redaction: 'PLAIN_TEXT' }),
  },
})

const PATH = `/v1/vaults/${VAULT}/people`

export const httpBenchmark: Benchmark = {
  names: ['http'],
  storages: {
    memory: (config) => measureHttp(config, { name: 'memory', storage: memoryStorage(), targets: MEMORY_TARGETS }),
    sqlite: (config) =>
      measureHttp(config, {
        name: 'sqlite',
        storage: sqliteStorage({ filename: config.environments.sqliteFile() }),
        targets: SQLITE_TARGETS,
      }),
    none: measureRouter,
  },
}

/** Minimum ratios. */
interface Targets {
  readonly insert: number
  readonly read: number
}

const MEMORY_TARGETS: Targets = { insert: 0.17, read: 0.2 }
const SQLITE_TARGETS: Targets = { insert: 0.14, read: 0.16 }

interface Subject {
  readonly name: StorageName
  readonly storage: StorageHandle
  readonly targets: Targets
}

/** Requests of one kind, and a response to one of them. */
interface Kind {
  readonly name: string
  readonly target: number | undefined
  request(): string
}

async function measureHttp(config: RunConfig, { name: storage, storage: handle, targets }: Subject): Promise<Entry[]> {
  const vault = await createVault({ id: VAULT, schema, storage: handle, keys: localKeys({ key: SECRET }) })
  const session = vault.as(OWNER)
  const people = config.people.next(1000)
  const { records } = await session.insert('people', people, { tokenization: true })
  const { request: _, ...caller } = OWNER
  const handler = createHandler({ vaults: vault, authenticate: async () => ({ caller, credential: {} }) })
  const server = await listen(toNodeHandler(handler))
  const sender = startLoadSender()
  const record = () => at(records, config.people.below(records.length))
  const detokenize = () => ({ detokenizationParameters: [{ token: record().tokens.ssn, redaction: 'PLAIN_TEXT' }] })
  const kinds: Kind[] = [
    {
      name: 'insert',
      target: targets.insert,
      request: () => wireRequest('POST', PATH, { records: config.people.next(1), tokenization: true }),
    },
    { name: 'get', target: targets.read, request: () => wireRequest('GET', `${PATH}/${record().id}`) },
    {
      name: 'detokenize',
      target: targets.read,
      request: () => wireRequest('POST', `/v1/vaults/${VAULT}/detokenize`, detokenize()),
    },
    { name: 'list of 25', target: undefined, request: () => wireRequest('GET', `${PATH}?limit=25`) },
  ]
  const entries: Entry[] = []
  for (const kind of kinds) entries.push(...(await measureKind(config, { storage, kind, port: server.port, sender })))
  server.close()
  await sender.close()
  await vault.close()
  return entries
}

interface Measuring {
  readonly storage: StorageName
  readonly kind: Kind
  readonly port: number
  readonly sender: LoadSender
}

async function measureKind(config: RunConfig, { storage, kind, port, sender }: Measuring): Promise<Entry[]> {
  const constant = await answerTo(port, kind.request())
  const baseline = await listen(constantServer(constant))
  const late: { ours: number[]; baseline: number[] } = { ours: [], baseline: [] }
  const subject = { benchmark: `http ${kind.name}, 32 connections, audited`, storage, rows: 1000 }
  const pair = {
    ours: loadOf({ name: 'strongroom/http', port, late: late.ours }, kind, config, sender),
    baseline: loadOf({ name: 'node:http, a constant', port: baseline.port, late: late.baseline }, kind, config, sender),
  }
  const entry = await measurePair(
    kind.target === undefined ? subject : { ...subject, target: kind.target },
    pair,
    config.scale.callTiming,
  )
  baseline.close()
  const ours = median(late.ours)
  const theirs = median(late.baseline)
  return [
    entry,
    {
      ...{ benchmark: `${subject.benchmark}, 99 % of requests within`, storage, rows: 1000 },
      ...{ figure: ours, baseline: 'node:http, a constant', baselineFigure: theirs, ratio: ours / theirs },
      ...({ unit: 'ms', lowerIsBetter: true } as const),
    },
  ]
}

/** Returns a load on one server. `late` collects the time within which 99 of 100 requests were answered. */
function loadOf(
  { name, port, late }: { readonly name: string; readonly port: number; readonly late: number[] },
  kind: Kind,
  config: RunConfig,
  sender: LoadSender,
): Variant {
  const count = Math.max(200, Math.floor(config.scale.reads / 2))
  let requests: string[] = []
  let senderCpu = 0
  return {
    name,
    senderCpu: () => senderCpu,
    prepare() {
      requests = Array.from({ length: count }, () => kind.request())
    },
    async run() {
      const { p99, cpu } = await sender.send(port, requests)
      late.push(p99)
      senderCpu = cpu
      return count
    },
  }
}

async function answerTo(port: number, request: string): Promise<string> {
  const [head = '', body = ''] = request.split('\r\n\r\n')
  const [method = 'GET', path = '/'] = head.split(' ')
  const headers = { authorization: 'Bearer benchmark', 'content-type': 'application/json' }
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...(body === '' ? {} : { body }) })
  return response.text()
}

const ANY_BODY = z.object({
  records: z.array(z.object({ fields: z.record(z.string(), z.string()) })).optional(),
  detokenizationParameters: z.array(z.object({ token: z.string(), redaction: z.string() })).optional(),
  tokenization: z.boolean().optional(),
})

/** Parses and checks the body, and answers a constant. */
function constantServer(constant: string) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      if (text !== '') ANY_BODY.parse(JSON.parse(text))
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(constant) })
      response.end(constant)
    })
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
  const vault = await createVault({ id: VAULT, schema, storage: memoryStorage(), keys: localKeys({ key: SECRET }) })
  const router = createRouter({ vaults: vault, authenticate: async () => undefined }, () => [CONSTANT_ROUTE])
  const server = await listen(createNodeHandler(router))
  const sender = startLoadSender()
  const request = wireRequest('GET', '/v1/vaults/bench/constants/5a4bc4ef-11f5-4c08-9887-d943d109abf6')
  const response = await fetch(`http://127.0.0.1:${server.port}/v1/vaults/bench/constants/5`)
  const constant = await response.text()
  const headers = Object.fromEntries(
    [...response.headers].filter(([name]) => !['date', 'connection', 'keep-alive'].includes(name)),
  )
  const baseline = await listen((_, answer) => {
    answer.writeHead(200, headers)
    answer.end(constant)
  })
  const count = Math.max(200, config.scale.reads)
  const requests: string[] = new Array(count).fill(request)
  const load = (name: string, port: number): Variant => {
    let senderCpu = 0
    return {
      name,
      senderCpu: () => senderCpu,
      async run() {
        senderCpu = (await sender.send(port, requests)).cpu
        return count
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
