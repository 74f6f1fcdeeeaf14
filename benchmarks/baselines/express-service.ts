/** Baseline: the service that a user would write in place of a vault: Express, the driver, plain text, an API key looked up, an audit row for each request. */
import { randomUUID } from 'node:crypto'
import express, { type ErrorRequestHandler, type Express, type Request } from 'express'
import * as z from 'zod'
import { digestKey, type PlainKey, type PlainStore } from './plain-store.ts'

const insertShape = z.strictObject({
  records: z.array(
    z.strictObject({
      fields: z.strictObject({
        name: z.string().max(200),
        email: z.email({ pattern: z.regexes.unicodeEmail }),
        phone: z.string().max(50),
        address: z.string().max(500),
        ssn: z.string().max(20),
        city: z.string().max(100),
      }),
    }),
  ),
  tokenization: z.boolean(),
})
const detokenizeShape = z.strictObject({
  detokenizationParameters: z.array(z.strictObject({ token: z.uuid(), redaction: z.literal('PLAIN_TEXT') })),
})

/** An error with its status. */
class Refused extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Returns the application. Its paths and bodies are those of a vault with the table `people`. */
export function createExpressService(store: PlainStore, vaultId: string): Express {
  const app = express()
  app.disable('x-powered-by')
  app.use(express.json({ limit: '10mb' }))
  const begin = async (request: Request) => {
    const key = await authenticate(store, request.get('authorization'))
    const requestId = randomUUID()
    request.res?.set('x-request-id', requestId)
    return (action: string, record: string | undefined, status: number) => {
      return [new Date().toISOString(), key.actor, action, record, status, request.ip, requestId]
    }
  }
  app.get(`/v1/vaults/${vaultId}/people/:id`, async (request, response) => {
    const event = await begin(request)
    const fields = await store.findPerson(request.params.id)
    await store.record(event('GET', request.params.id, fields === undefined ? 404 : 200))
    if (fields === undefined) throw new Refused(404, 'Not found')
    response.json({ fields })
  })
  app.post(`/v1/vaults/${vaultId}/people`, async (request, response) => {
    const event = await begin(request)
    const records: object[] = []
    for (const { fields } of parsed(insertShape, request.body).records) {
      const person = { id: randomUUID(), ...fields, token: randomUUID() }
      await store.insert(person, event('INSERT', person.id, 200))
      records.push({ id: person.id, tokens: { ssn: person.token } })
    }
    response.json({ records })
  })
  app.post(`/v1/vaults/${vaultId}/detokenize`, async (request, response) => {
    const event = await begin(request)
    const records: object[] = []
    let last: string | undefined
    for (const { token } of parsed(detokenizeShape, request.body).detokenizationParameters) {
      const person = await store.findByToken(token)
      if (person === undefined) throw new Refused(404, 'Not found')
      last = person.id
      records.push({ token, valueType: 'STRING', value: person.ssn })
    }
    await store.record(event('DETOKENIZE', last, 200))
    response.json({ records })
  })
  const onError: ErrorRequestHandler = (error, _request, response, _next) => {
    const status = error instanceof Refused ? error.status : 500
    response.status(status).json({ error: { message: status === 500 ? 'Internal' : error.message } })
  }
  app.use(onError)
  return app
}

async function authenticate(store: PlainStore, header = ''): Promise<PlainKey> {
  const [, apiKey] = /^Bearer (\S{1,8192})$/.exec(header) ?? []
  const key = apiKey === undefined ? undefined : await store.findKey(digestKey(apiKey))
  if (key === undefined || key.revoked_at !== null) throw new Refused(401, 'Unauthenticated')
  return key
}

function parsed<T>(shape: z.ZodType<T>, body: unknown): T {
  const result = shape.safeParse(body)
  if (!result.success) throw new Refused(400, 'Invalid body')
  return result.data
}
