/** Each example of a server is started as the page says, and asked over a socket. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { builtPackage } from '../support/cli/built-command.ts'
import { type AskOptions, ask } from '../support/http/ask.ts'

const ROOT = join(import.meta.dirname, '../..')
const CREDENTIAL = 'TEST_SECRET-of-the-examples'
const PATH = '/vault/v1/vaults/customers/customers'

/** How each is started. */
const EXAMPLES: readonly (readonly [string, readonly string[]])[] = [
  ...['node-http', 'express', 'fastify', 'hono', 'koa', 'next-server'].map(
    (name) => [name, [process.execPath, ...builtPackage()]] as const,
  ),
  ['bun', [join(ROOT, 'node_modules/.bin/bun')]],
]

/** Runs work while a server runs. It has the port that the server announced. */
async function whileServing(name: string, command: readonly string[], work: (port: number) => Promise<void>): Promise<void> {
  const [program = '', ...given] = command
  const server = spawn(program, [...given, join(ROOT, `examples/http/${name}.ts`)], {
    env: { ...process.env, PORT: '0' },
    cwd: ROOT,
  })
  let output = ''
  try {
    const port = await new Promise<number>((resolve, reject) => {
      const read = (chunk: Buffer): void => {
        output += chunk
        const found = /The vault is at http:\/\/127\.0\.0\.1:(\d+)\/vault/.exec(output)
        if (found !== null) resolve(Number(found[1]))
      }
      server.stdout.on('data', read)
      server.stderr.on('data', read)
      server.on('error', reject)
      server.on('exit', () => reject(new Error(`The server ended: ${output}`)))
    })
    await work(port)
  } finally {
    server.kill()
    if (server.exitCode === null && server.signalCode === null) await new Promise((resolve) => server.once('exit', resolve))
  }
}

describe('the example of a server', () => {
  it.each(EXAMPLES)('%s stores and returns records', async (name, command) => {
    await whileServing(name, command, async (port) => {
      const send = (method: string, path: string, options: AskOptions = {}) =>
        ask(port, [method, path], { credential: CREDENTIAL, ...options })
      const inserted = await send('POST', PATH, { body: { records: [{ fields: { name: 'Ann', email: 'ann@acme.example' } }] } })
      expect(inserted.status, inserted.text).toBe(200)
      const id = inserted.json.records[0].svc_id
      const read = await send('GET', `${PATH}/${id}`)
      expect(read.json.fields).toEqual({ svc_id: id, name: 'A**', email: 'a***@acme.example' })
      expect(read.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/)
      const plain = await send('GET', `${PATH}?svc_ids=${id}&redaction=PLAIN_TEXT`)
      expect(plain.json.records[0].fields.name).toBe('Ann')
      const refused = await send('GET', PATH, { credential: 'TEST_SECRET-other' })
      expect(refused).toMatchObject({ status: 401, json: { error: { grpc_code: 16 } } })
      expect(await send('GET', '/vault/v1/nothing')).toMatchObject({ status: 404, json: { error: { grpc_code: 5 } } })
    })
  })
})
