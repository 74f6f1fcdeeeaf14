/** The command `strongroom serve` as an operator meets it: its ports, its end, its TLS files, and what it says when it cannot start. */
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { restartDelay } from '../../../src/cli/serve/serve-primary.ts'
import { runProcess, startCommand } from '../../support/cli/run-command.ts'
import { listen } from '../../support/http/serve-vault.ts'
import { mountSmallDisk } from '../../support/postgres/small-disk.ts'
import { missingFrom, sendWithoutPause } from '../../support/serve/busy-clients.ts'
import { openClient } from '../../support/serve/one-connection.ts'
import { CUSTOMERS, servedProject, startServer, waitForWorkers } from '../../support/serve/start-server.ts'
import { makeTlsFiles } from '../../support/serve/tls-files.ts'

const FREE = ['--port', '0', '--health-port', '0']

describe('the ports', () => {
  it.each([1, 2])('with %i workers, are of requests, and of health and metrics', async (workers) => {
    const project = await servedProject('sqlite')
    const server = await startServer(project, ['--workers', String(workers)])
    if (workers > 1) await waitForWorkers(server, workers)
    for (let count = 0; count < 4; count++) expect((await server.ask('GET', CUSTOMERS)).status).toBe(200)
    const answers = await Promise.all(['/live', '/ready', '/metrics', '/v1'].map((path) => server.askHealth(path)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 404])
    const { text } = answers[2] ?? { text: '' }
    expect(text).toContain('strongroom_operation_duration_seconds_count{operation="get",error=""} 4\n')
    expect(text).toContain('strongroom_http_request_duration_seconds_count{method="GET",status="200"} 4\n')
    expect(text).not.toContain(project.apiKey.slice(3, 39))
    expect(server.command.printed.stderr).toBe('')
  })

  it('in use are named in one sentence, with exit code 5', async () => {
    const project = await servedProject('sqlite')
    const other = createServer()
    const port = String(await listen(other))
    onTestFinished(() => void other.close())
    for (const workers of ['1', '2']) {
      const main = await runProcess(['serve', ...FREE, '--port', port, '--workers', workers], project)
      expect([main.code, main.stderr]).toEqual([
        5,
        `strongroom: Port ${port} of 127.0.0.1 is in use. Stop what uses it, or specify another one with --port.\n`,
      ])
    }
    const health = await runProcess(['serve', ...FREE, '--health-port', port], project)
    expect([health.code, health.stderr]).toEqual([
      5,
      `strongroom: Port ${port} of 127.0.0.1 is in use. Stop what uses it, or specify another one with --health-port.\n`,
    ])
  })
})

it('the console is served where it is asked for, in one process and in several', async () => {
  const project = await servedProject('sqlite')
  const plain = await startServer(project)
  expect((await plain.ask('GET', '/console')).status).toBe(404)
  project.configure({ http: { baseUrl: '/vault' } })
  for (const workers of ['1', '2']) {
    const server = await startServer(project, ['--console', '--workers', workers])
    expect((await server.ask('GET', '/vault/console', { credential: null })).status).toBe(200)
    expect(server.command.printed.stdout).toContain(`"console":"http://127.0.0.1:${server.port}/vault/console"`)
  }
})

it('the port of health is free again soon after connections that send nothing', async () => {
  const server = await startServer(await servedProject('sqlite'))
  for (let count = 0; count < 64; count++) {
    const socket = connect(server.healthPort, '127.0.0.1').on('error', () => {})
    onTestFinished(() => void socket.destroy())
  }
  const status = () =>
    server.askHealth('/live').then(
      (answer) => answer.status,
      () => 0,
    )
  while ((await status()) !== 0) await pause(20)
  const end = performance.now() + 7500
  while (performance.now() < end && (await status()) !== 200) await pause(200)
  expect(await status()).toBe(200)
})

describe('the end', () => {
  it.each([1, 2])('with %i workers, is announced: not ready, while requests are still answered', async (workers) => {
    const project = await servedProject('sqlite', { server: { shutdown: { delayMs: 1500 } } })
    const server = await startServer(project, ['--workers', String(workers)])
    if (workers > 1) await waitForWorkers(server, workers)
    server.command.child.kill('SIGTERM')
    while ((await server.askHealth('/ready')).status === 200) await pause(10)
    const answer = await server.ask('GET', CUSTOMERS)
    expect([answer.status, answer.headers.connection]).toEqual([200, 'close'])
    expect((await server.askHealth('/live')).status).toBe(200)
    expect((await server.command.ended).code).toBe(0)
    await expect(server.ask('GET', CUSTOMERS)).rejects.toThrow('ECONNREFUSED')
    const again = await startServer(project, ['--port', String(server.port)])
    expect((await again.ask('GET', CUSTOMERS)).status).toBe(200)
  })

  it.each([1, 2])('with %i workers, comes at once with the second signal', async (workers) => {
    const project = await servedProject('sqlite')
    const server = await startServer(project, ['--workers', String(workers)])
    await unfinished(server.port, project.apiKey)
    server.command.child.kill('SIGINT')
    await server.command.waitFor('"msg":"ending"')
    // As npx does, which passes on what the terminal sends to both.
    server.command.child.kill('SIGINT')
    await pause(700)
    expect(server.command.child.exitCode).toBe(null)
    server.command.child.kill('SIGINT')
    expect((await server.command.ended).code).toBe(130)
  })

  it.each([1, 2])('with %i workers, comes at the time limit, and says how many requests were cut', async (workers) => {
    const project = await servedProject('sqlite', { server: { shutdown: { limitMs: 500 } } })
    const server = await startServer(project, ['--workers', String(workers)])
    await unfinished(server.port, project.apiKey)
    server.command.child.kill('SIGTERM')
    const { code, stderr } = await server.command.ended
    expect(code).toBe(1)
    expect(stderr).toContain('"requests":1,"msg":"ended at the time limit: requests were cut"')
  })
})

/** Sends a request whose body never ends. */
async function unfinished(port: number, apiKey: string): Promise<void> {
  const client = await openClient(port)
  client.send(
    `POST ${CUSTOMERS} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${apiKey}\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{`,
  )
  await pause(300)
}

describe('workers', () => {
  it('that die under load are started again, and nothing acknowledged is lost', async () => {
    const project = await servedProject('sqlite')
    const server = await startServer(project, ['--workers', '2'])
    await waitForWorkers(server, 2)
    const isOver = { now: false }
    const sent = sendWithoutPause({ port: server.port, apiKey: project.apiKey, count: 8, name: 'w' }, () => isOver.now)
    for (let deaths = 1; deaths <= 2; deaths++) {
      await pause(300)
      process.kill(await workerOf(server.command.child.pid ?? 0), 'SIGKILL')
      while (!(await server.askHealth('/metrics')).text.includes(`strongroom_worker_deaths_total ${deaths}\n`)) await pause(20)
      await waitForWorkers(server, 2)
    }
    isOver.now = true
    const tally = await sent
    expect([tally.others, tally.answered > 20]).toEqual([{}, true])
    server.command.child.kill('SIGTERM')
    expect((await server.command.ended).code).toBe(0)
    expect(await missingFrom(project, tally.stored)).toEqual([])
  })

  it('are started again at a bounded rate, and at once if they had lived', () => {
    const delays = [0]
    for (let death = 0; death < 12; death++) delays.push(restartDelay(50, delays.at(-1) ?? 0))
    expect(delays.slice(1, 5)).toEqual([100, 200, 400, 800])
    expect(delays.at(-1)).toBe(30_000)
    expect(restartDelay(60_000, 30_000)).toBe(100)
  })

  it('count refused credentials together', async () => {
    const project = await servedProject('sqlite', { server: { limits: { failuresPerSource: 4 } } })
    const server = await startServer(project, ['--workers', '2'])
    await waitForWorkers(server, 2)
    for (let count = 0; count < 4; count++) {
      expect((await server.ask('GET', CUSTOMERS, { credential: 'wrong' })).status).toBe(401)
      await pause(50)
    }
    for (let count = 0; count < 4; count++) expect((await server.ask('GET', CUSTOMERS)).status).toBe(429)
  })
})

/** Returns the process id of a worker. */
async function workerOf(primary: number): Promise<number> {
  const children = await readFile(`/proc/${primary}/task/${primary}/children`, 'utf8')
  return Number(children.trim().split(' ').at(0))
}

describe('TLS', () => {
  it.each([1, 2])('with %i workers, has the certificate of its files, which SIGHUP reads again', async (workers) => {
    const files = makeTlsFiles()
    onTestFinished(files.remove)
    const server = await startServer(await servedProject('sqlite', { server: { tls: files } }), ['--workers', String(workers)])
    if (workers > 1) await waitForWorkers(server, workers)
    const nameNow = async () => {
      const socket = connectTls({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false })
      await once(socket, 'secureConnect')
      socket.write(`GET ${CUSTOMERS} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`)
      const [answer] = await once(socket, 'data')
      expect(String(answer)).toContain('401 Unauthorized')
      const { CN } = socket.getPeerCertificate().subject
      socket.destroy()
      return CN
    }
    expect(await nameNow()).toBe('first')
    files.replace('second')
    server.command.child.kill('SIGHUP')
    while ((await nameNow()) !== 'second') await pause(20)
    writeFileSync(files.key, 'no key')
    server.command.child.kill('SIGHUP')
    await server.command.waitFor('TLS files not read again')
    expect(await nameNow()).toBe('second')
  })

  it('whose files cannot be read is named in one sentence, with exit code 3', async () => {
    const project = await servedProject('sqlite', { server: { tls: { cert: 'no.crt', key: 'no.key' } } })
    const missing = await runProcess(['serve', ...FREE], project)
    expect(missing.code).toBe(3)
    expect(missing.stderr).toBe(
      `strongroom: The TLS certificate ${join(project.folder, 'no.crt')} cannot be read (ENOENT). Check that it exists and that this user may read it.\n`,
    )
    const files = makeTlsFiles()
    onTestFinished(files.remove)
    writeFileSync(files.key, 'no key')
    const wrong = await runProcess(['serve', ...FREE, '--tls-cert', files.cert, '--tls-key', files.key], project)
    expect([wrong.code, wrong.stderr]).toEqual([
      3,
      `strongroom: The TLS files ${files.cert} and ${files.key} are no certificate and its key in PEM. Check both.\n`,
    ])
    const half = await runProcess(['serve', ...FREE, '--tls-cert', files.cert], project)
    expect([half.code, half.stderr]).toEqual([2, 'strongroom: --tls-cert and --tls-key must be given together.\n'])
  })
})

describe('a start that cannot be', () => {
  it('for want of the key has the sentence of the library, and exit code 4, from workers too', async () => {
    const project = await servedProject('sqlite')
    for (const workers of ['1', '2']) {
      rmSync(join(project.folder, 'vault.key'), { force: true })
      const { code, stderr, stdout } = await runProcess(['serve', ...FREE, '--workers', workers], project)
      expect([code, stdout]).toEqual([4, ''])
      expect(stderr).toMatch(/^strongroom: .*key.*\n$/)
    }
  })

  it('because the schema would lose data has one sentence, and exit code 4', async () => {
    const project = await servedProject('sqlite')
    await project.withVault((vault) =>
      vault
        .as({ actor: 'a', actorType: 'USER', roles: ['VAULT_OWNER'] })
        .insertOne('customers', { name: 'Ann', email: 'ann@acme.example' }),
    )
    const text = `import { column, defineSchema } from 'strongroom'\nexport const schema = defineSchema({ customers: { name: column.integer() } })\n`
    writeFileSync(join(project.folder, 'other.ts'), text)
    project.configure({ vault: { schema: './other.ts' } })
    const { code, stderr } = await runProcess(['serve', ...FREE], project)
    expect(code).toBe(4)
    // Before it, the log says what the schema leaves out.
    expect(stderr).toMatch(/^({.*}\n)*strongroom: .*customers.*\n$/)
    expect(stderr).not.toContain('ann@')
  })

  it('because the storage is away has one sentence and exit code 5, and with --start-ms it starts when the storage is there', async () => {
    const project = await servedProject('postgres')
    const behind = new URL(inject('postgresUrl'))
    const sockets = new Set<Socket>()
    const gate = createServer((socket) => {
      const other = connect(Number(behind.port), behind.hostname)
      for (const one of [socket, other]) sockets.add(one.on('error', () => {}))
      socket.pipe(other).pipe(socket)
    })
    onTestFinished(() => {
      gate.close()
      for (const socket of sockets) socket.destroy()
    })
    const port = await listen(gate)
    gate.close()
    await once(gate, 'close')
    const url = new URL(readFileSync(join(project.folder, 'url'), 'utf8'))
    url.port = String(port)
    writeFileSync(join(project.folder, 'url'), url.href)
    const away = await runProcess(['serve', ...FREE], project)
    expect(away.code).toBe(5)
    expect(away.stderr).toMatch(/^strongroom: [^\n]+\n$/)
    expect(away.stderr).not.toContain(url.password)
    const waiting = startCommand(['serve', '--json', ...FREE, '--start-ms', '60000'], project)
    await waiting.waitFor('vault not opened yet')
    gate.listen(port, '127.0.0.1')
    await waiting.waitFor('"health"')
    waiting.child.kill('SIGTERM')
    expect((await waiting.ended).code).toBe(0)
  })

  it('is ended by SIGTERM, with exit code 0 or that of an interruption', async () => {
    const project = await servedProject('postgres')
    writeFileSync(join(project.folder, 'url'), 'postgres://vault:x@127.0.0.1:1/vault')
    const waiting = startCommand(['serve', ...FREE, '--start-ms', '60000'], project)
    await waiting.waitFor('vault not opened yet')
    waiting.child.kill('SIGTERM')
    expect([0, 130]).toContain((await waiting.ended).code)
  })

  it('because of the line or the configuration has exit code 2 or 3', async () => {
    const project = await servedProject('sqlite')
    expect((await runProcess(['serve', '--workers', '0'], project)).code).toBe(2)
    expect((await runProcess(['serve', '--origin', 'app.example'], project)).code).toBe(2)
    project.configure({ http: { credentials: { apiKeys: false, serviceAccounts: false } } })
    const none = await runProcess(['serve', ...FREE], project)
    expect([none.code, none.stderr]).toEqual([3, 'strongroom: http.credentials: no kind of credential is accepted. Allow one.\n'])
    const wrong = { server: { limits: { connection: 1 } } }
    project.configure(wrong as object)
    const unknown = await runProcess(['serve', ...FREE], project)
    expect(unknown.code).toBe(3)
    expect(unknown.stderr).toContain('server.limits')
  })
})

describe('a disk that is full', () => {
  it('is an error of the request while it serves, and one sentence with exit code 5 at the start', async (context) => {
    const disk = mountSmallDisk(8)
    if (disk === undefined) return context.skip()
    onTestFinished(() => disk.unmount())
    const project = await servedProject('sqlite', {}, join(disk.directory, 'vault.db'))
    const server = await startServer(project)
    const fields = { name: 'n'.repeat(2400) }
    let last = await server.ask('POST', CUSTOMERS, { body: { records: [{ fields }] } })
    for (let count = 0; count < 100 && last.status === 200; count++)
      last = await server.ask('POST', CUSTOMERS, { body: { records: Array.from({ length: 100 }, () => ({ fields })) } })
    expect([last.status, last.json.error.grpc_code]).toEqual([500, 8])
    expect((await server.askHealth('/live')).status).toBe(200)
    expect(server.command.printed.stderr).toContain('"code":"storage_full"')
    server.command.child.kill('SIGTERM')
    expect((await server.command.ended).code).toBe(0)
    writeFileSync(join(disk.directory, 'rest'), '')
    fill(join(disk.directory, 'rest'))
    rmSync(join(disk.directory, 'vault.db-wal'), { force: true })
    const full = await runProcess(['serve', ...FREE], project)
    expect(full.code).toBe(5)
    expect(full.stderr.split('\n').filter((line) => line.startsWith('strongroom: '))).toHaveLength(1)
  })
})

/** Appends until the disk is full. */
function fill(file: string): void {
  try {
    for (;;) writeFileSync(file, Buffer.alloc(4096), { flag: 'a' })
  } catch {
    // It is full.
  }
}

it('a request leaves one line by option, without its path', async () => {
  const server = await startServer(await servedProject('sqlite'), ['--log-requests'])
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let count = 0; count < 2; count++) {
    const [response] = await once(get({ host: '127.0.0.1', port: server.port, path: '/openapi.json', agent }), 'response')
    response.resume()
    await once(response, 'end')
  }
  agent.destroy()
  await server.command.waitFor('"msg":"request"')
  const lines = server.command.printed.stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(Object.keys(lines[0]).sort()).toEqual(['level', 'method', 'ms', 'msg', 'pid', 'requestID', 'status', 'time'])
})
