/** What operators copy: the Dockerfile runs, without root and on a read-only file system, and what the manifests name exists. */
import { execFile, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { serverShape } from '../../src/cli/config/server-shape.ts'
import { schemaText } from '../../src/cli/init/templates.ts'
import { SERVE } from '../../src/cli/serve/commands.ts'
import { type BuiltImage, buildImage } from '../support/deploy/built-image.ts'
import { servePackage } from '../support/deploy/package-registry.ts'
import { lastOf, readDockerfile, wordsOf } from '../support/deploy/read-dockerfile.ts'
import { ask } from '../support/http/ask.ts'

const stages = readDockerfile(readFileSync('deploy/Dockerfile', 'utf8'))
const image = stages.at(-1) ?? { image: '', name: undefined, steps: [] }
const page = readFileSync('docs/serve.md', 'utf8')
const defaults = serverShape.parse({})
const FLAGS = new Set((SERVE.options ?? []).map(({ flags }) => flags.split(' ')[0]))

/** The documents of a YAML file, as Bun reads it. */
function parseYaml(text: string): unknown {
  const program = 'console.log(JSON.stringify(Bun.YAML.parse(await Bun.stdin.text())))'
  return JSON.parse(execFileSync('node_modules/.bin/bun', ['-e', program], { input: text, encoding: 'utf8' }))
}

function fenceOf(language: string): string {
  return new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? ''
}

/** The words of a line that begin as flags do. */
function unknownFlags(words: readonly string[]): string[] {
  return words.filter((word) => word.startsWith('--') && !FLAGS.has(word))
}

describe('the Dockerfile', () => {
  it('has stages, a user that is not root, ports and flags that exist, and a health check', () => {
    expect(stages.map(({ name }) => name)).toEqual(['packages', undefined])
    expect(lastOf(image, 'USER')).toBe('1000:1000')
    expect(lastOf(image, 'EXPOSE')).toBe(`${defaults.port} ${defaults.health.port}`)
    expect(lastOf(image, 'HEALTHCHECK')).toContain(`:${defaults.health.port}/ready`)
    const [command, ...args] = wordsOf(lastOf(image, 'CMD'))
    expect([command, unknownFlags(args)]).toEqual(['serve', []])
    // Nothing after USER is done as root.
    const user = image.steps.findIndex(({ word }) => word === 'USER')
    expect(image.steps.slice(user).some(({ word }) => word === 'RUN' || word === 'COPY')).toBe(false)
  })
})

describe('its steps', () => {
  const context = mkdtempSync(join(tmpdir(), 'strongroom-context-'))
  const key = randomBytes(32).toString('base64')
  let built: BuiltImage
  beforeAll(async () => {
    const registry = await servePackage()
    writeFileSync(join(context, 'package.json'), JSON.stringify({ type: 'module', dependencies: { strongroom: '*' } }))
    writeFileSync(join(context, 'schema.ts'), schemaText())
    const storage = `{ sqlite: { filename: 'data/vault.db', driver: 'node:sqlite' } }`
    const config = `import { defineConfig } from 'strongroom/config'\nimport { schema } from './schema.ts'\nexport default defineConfig({ vault: { id: 'main', schema, storage: ${storage}, keys: { env: 'VAULT_KEY' } } })\n`
    writeFileSync(join(context, 'strongroom.config.ts'), config)
    const env = { npm_config_registry: registry.url, npm_config_cache: join(context, '.cache') }
    await promisify(execFile)('npm', ['install', '--package-lock-only'], { cwd: context, env: { ...process.env, ...env } })
    built = await buildImage(stages, context, env)
    await registry.close()
  })
  afterAll(() => {
    built.remove()
    rmSync(context, { recursive: true, force: true })
  })

  it('give a server that runs without root, writes to its volume alone, is healthy, and ends without losing a request', async () => {
    const [, ...args] = wordsOf(lastOf(image, 'CMD'))
    const server = built.start(['serve', ...args, '--json', '--port', '0', '--health-port', '0'], { VAULT_KEY: key })
    let printed = ''
    let errors = ''
    server.stdout?.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
    server.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors += text
    })
    const ended = once(server, 'close')
    while (!printed.includes('"health"')) {
      expect(server.exitCode, errors).toBe(null)
      await pause(50)
    }
    const { url, health } = JSON.parse(printed)
    const status = readFileSync(`/proc/${server.pid}/status`, 'utf8')
    if (process.geteuid?.() === 0) {
      expect(built.isReadOnly).toBe(true)
      expect(/^Uid:\t(\d+)/m.exec(status)?.[1]).toBe('1000')
      const mounts = readFileSync(`/proc/${server.pid}/mountinfo`, 'utf8').split('\n')
      expect(mounts.filter((line) => line.split(' ')[4] === '/').every((line) => line.split(' ')[5]?.startsWith('ro'))).toBe(true)
    }
    expect(built.check(Number(new URL(health).port))).toBe(0)
    expect((await ask(Number(new URL(url).port), ['GET', '/v1/vaults/main/customers'])).status).toBe(401)
    server.kill('SIGTERM')
    expect((await ended)[0]).toBe(0)
    expect(built.check(1)).toBe(1)
    expect(errors).toContain('"msg":"ending"')
  })
})

describe('the manifests', () => {
  it('of compose have PostgreSQL and clamd, and a vault on a read-only file system', () => {
    const shape = z.object({
      services: z.object({
        vault: z.object({
          build: z.object({ dockerfile: z.literal('node_modules/strongroom/deploy/Dockerfile') }),
          read_only: z.literal(true),
          cap_drop: z.tuple([z.literal('ALL')]),
          ports: z.tuple([z.literal(`${defaults.port}:${defaults.port}`)]),
          volumes: z.tuple([z.literal(`vault-data:${wordsOf(lastOf(image, 'VOLUME'))[0]}`)]),
        }),
        postgres: z.object({ image: z.string().startsWith('postgres:') }),
        clamd: z.object({ image: z.string().startsWith('clamav/') }),
      }),
    })
    const { services } = shape.parse(parseYaml(readFileSync('deploy/compose.yaml', 'utf8')))
    expect(Object.keys(services)).toEqual(['vault', 'postgres', 'clamd'])
  })

  it('of Kubernetes have the ports, paths and flags that there are, and no root', () => {
    const container = z.object({
      args: z.array(z.string()),
      securityContext: z.object({ readOnlyRootFilesystem: z.literal(true), allowPrivilegeEscalation: z.literal(false) }),
      ports: z.tuple([
        z.object({ containerPort: z.literal(defaults.port) }),
        z.object({ containerPort: z.literal(defaults.health.port) }),
      ]),
      livenessProbe: z.object({ httpGet: z.object({ path: z.literal('/live'), port: z.literal('health') }) }),
      readinessProbe: z.object({ httpGet: z.object({ path: z.literal('/ready'), port: z.literal('health') }) }),
    })
    const pod = z.object({
      terminationGracePeriodSeconds: z.number().min((defaults.shutdown.limitMs + 5000) / 1000),
      securityContext: z.object({ runAsNonRoot: z.literal(true), runAsUser: z.literal(1000) }),
      containers: z.tuple([container]),
    })
    const [deployment, service] = z
      .tuple([z.object({ spec: z.object({ template: z.object({ spec: pod }) }) }), z.object({ kind: z.literal('Service') })])
      .parse(parseYaml(fenceOf('yaml')))
    expect(unknownFlags(deployment.spec.template.spec.containers[0].args)).toEqual([])
    expect(service.kind).toBe('Service')
  })

  it('of systemd start the command with flags that there are, and wait for its end', () => {
    const unit = fenceOf('ini')
    const start = /^ExecStart=(.*)$/m.exec(unit)?.[1] ?? ''
    expect(start).toContain('node_modules/strongroom/dist/cli/strongroom.js serve')
    expect(unknownFlags(start.split(' '))).toEqual([])
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) * 1000).toBeGreaterThan(defaults.shutdown.limitMs)
    expect(unit).toMatch(/^User=strongroom$/m)
  })
})

it('the page names every setting with its default, and no other', () => {
  const named = [...page.matchAll(/`(server\.[\w.]+)`/g)].map(([, name = '']) => name)
  const settings = Object.entries(defaults).flatMap(([name, value]) =>
    typeof value === 'object' && !Array.isArray(value)
      ? Object.keys(value).map((member) => `server.${name}.${member}`)
      : [`server.${name}`],
  )
  expect(new Set(named)).toEqual(new Set([...settings, 'server.tls.cert', 'server.tls.key', 'server.tls']))
  for (const value of [
    defaults.limits.headersMs,
    defaults.limits.requestMs,
    defaults.limits.remembered,
    defaults.sweepMs,
    defaults.shutdown.limitMs,
  ])
    expect(page).toContain(value.toLocaleString('en-US'))
})
