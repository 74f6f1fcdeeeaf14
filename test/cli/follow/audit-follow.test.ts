/** The command `audit follow` as a process: killed again and again, ended in time, beside writers of two processes, and with wrong arguments. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { openClients } from '../../support/audit/audited-clients.ts'
import { builtProcess } from '../../support/cli/built-command.ts'
import { eventServer } from '../../support/cli/event-server.ts'
import { assertDelivered, assertNoPlaintext, SECRETS, until } from '../../support/cli/follow-world.ts'
import { commandFolder, runCommand, startCommand } from '../../support/cli/run-command.ts'
import { postgresEngine, sqliteEngine } from '../../support/storages/engines.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const run = promisify(execFile)
const SUPPORT = join(import.meta.dirname, '../../support')
const WRITER = builtProcess(join(SUPPORT, 'audit/audit-writer-process.ts'))

/** A folder with a configuration of the vault at an address. */
function followFolder(address: object): { folder: string; env: Readonly<Record<string, string>> } {
  const config = `
    import { openStorage } from ${JSON.stringify(builtProcess(join(SUPPORT, 'storages/open-storage.ts')))}
    import { clients } from ${JSON.stringify(builtProcess(join(SUPPORT, 'audit/audited-clients.ts')))}
    export default {
      vault: { id: 'v1', schema: clients, storage: () => openStorage(${JSON.stringify(address)}), keys: { env: 'VAULT_KEY' } },
    }
  `
  return {
    folder: commandFolder({ 'strongroom.config.ts': config }),
    env: { VAULT_KEY: TEST_SECRET, TOKEN: 'Bearer secret-token' },
  }
}

const linesOf = (path: string): string[] => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [])

/** What must not be on standard error. */
function assertQuiet(text: string): void {
  assertNoPlaintext(text)
  expect(text).not.toContain('secret-token')
}

describe('audit follow', () => {
  const sqlite = sqliteEngine()
  const postgres = postgresEngine()

  it('delivers at least once and in order although it is killed again and again', async () => {
    const place = sqlite.fresh()
    const vault = await openClients(place.open())
    const { folder, env } = followFolder(place.address())
    const server = await eventServer()
    const [name, email] = SECRETS
    let isDone = false
    let written = 0
    const writing = (async () => {
      for (; !isDone; written++) {
        await vault.as(OWNER).insert('clients', [{ fields: { name, email: `${written}${email}` } }])
        await pause(2)
      }
    })()
    const args = [
      'audit',
      'follow',
      '--to',
      server.url.href,
      '--header-env',
      'authorization=TOKEN',
      '--cursor',
      'c',
      '--poll',
      '10',
    ]
    let errors = ''
    for (let kill = 0; kill < 4; kill++) {
      const command = startCommand(args, { folder, env })
      const before = server.requests
      await until('requests', () => server.requests > before + 3)
      command.child.kill('SIGKILL')
      errors += (await command.ended).stderr
    }
    isDone = true
    await writing
    const last = startCommand(args, { folder, env })
    await until('all events', () => new Set(server.lines()).size === written)
    last.child.kill('SIGTERM')
    const { code, stderr } = await last.ended
    expect(code).toBe(0)
    await assertDelivered(server.lines(), written)
    assertQuiet(errors + stderr)
    expect(stderr).toContain('"msg":"ended"')
    expect(server.taken.every(({ headers }) => headers.authorization === 'Bearer secret-token')).toBe(true)
  })

  it('delivers what two processes write on PostgreSQL to a file that is rotated, within five seconds', async () => {
    const place = postgres.fresh()
    const vault = await openClients(place.open())
    const { folder, env } = followFolder(place.address())
    const path = join(folder, 'audit.ndjson')
    const command = startCommand(['audit', 'follow', '--to', 'audit.ndjson', '--cursor', 'cursor'], { folder, env })
    await command.waitFor('"msg":"follows"')
    const work = { address: place.address(), callers: 4, each: 36 }
    const writers = ['a', 'b'].map((name) => run(process.execPath, [WRITER, JSON.stringify({ ...work, name })]))
    const files: string[] = []
    const all = Promise.all(writers)
    let areDone = false
    all.then(() => {
      areDone = true
    })
    while (!areDone) {
      await pause(400)
      if (!existsSync(path)) continue
      files.push(`${path}.${files.length}`)
      renameSync(path, files.at(-1) ?? '')
      if (files.length % 2 === 0) command.child.kill('SIGHUP')
    }
    const count = (await all).reduce((sum, { stdout }) => sum + Number(stdout), 0)
    const started = Date.now()
    await vault.as(OWNER).get('clients')
    await until('all lines', () => new Set([...files, path].flatMap(linesOf)).size === count + 1)
    expect(Date.now() - started).toBeLessThan(5000)
    command.child.kill('SIGTERM')
    expect((await command.ended).code).toBe(0)
    await assertDelivered([...files, path].flatMap(linesOf), count + 1)
  })

  it('prints events, ends when no one reads them, and goes on after what was read', async () => {
    const place = sqlite.fresh()
    const vault = await openClients(place.open())
    const { folder, env } = followFolder(place.address())
    await vault.as(OWNER).insert('clients', [{ fields: { name: SECRETS[0] } }])
    const args = ['audit', 'follow', '--to', '-', '--cursor', 'cursor', '--form', 'cef']
    const command = startCommand(args, { folder, env })
    await command.waitFor('CEF:0|strongroom|strongroom|')
    await until('a cursor', () => existsSync(join(folder, 'cursor')))
    command.child.stdout?.destroy()
    await vault.as(OWNER).insert('clients', [{ fields: { name: SECRETS[0] } }])
    const { code, stderr } = await command.ended
    expect(code).toBe(5)
    const again = startCommand(args, { folder, env })
    await again.waitFor('cn3=2 ')
    again.child.kill('SIGINT')
    expect((await again.ended).stdout.match(/CEF:0/g)).toHaveLength(1)
    assertQuiet(stderr + again.printed.stdout)
  })

  it('refuses what does not fit with one sentence and a code', async () => {
    const place = sqlite.fresh()
    const vault = await openClients(place.open())
    await vault.as(OWNER).get('clients')
    const { folder, env } = followFolder(place.address())
    const ended = async (...args: string[]) => {
      const { code, stderr } = await runCommand(['audit', 'follow', ...args], { folder, env })
      return [code, stderr.trim().split('\n').at(-1)]
    }
    const cursor = ['--cursor', 'cursor']
    expect(await ended(...cursor)).toEqual([2, 'strongroom: Name a target with --to.'])
    expect(await ended('--to', '-')).toEqual([2, 'strongroom: Name a file with --cursor.'])
    expect(await ended('--to', 'https://ann:secret@siem.example', ...cursor)).toEqual([
      2,
      'strongroom: --to must not contain a password. Name it with --header-env or --header-file.',
    ])
    expect(await ended('--to', 'ftp://x', ...cursor)).toEqual([2, expect.stringContaining('--to must be a file')])
    expect(await ended('--to', 'http://x', '--form', 'cef', '--body', 'array', ...cursor)).toEqual([
      2,
      'strongroom: --body array needs a form that is JSON: event or ocsf.',
    ])
    expect(await ended('--to', 'http://127.0.0.1:9', '--header-env', 'a=NONE', ...cursor)).toEqual([
      3,
      'strongroom: --header-env: the environment variable NONE is not set. Set it to the secret.',
    ])
    expect(await ended('--to', 'none/audit.ndjson', ...cursor)).toEqual([5, 'strongroom: none: No such file or folder.'])
    expect(await ended('--to', '-', '--cursor', 'none/cursor')).toEqual([
      5,
      expect.stringContaining('none: No such file or folder.'),
    ])
    writeFileSync(join(folder, 'cursor'), '{"strongroom":"audit-cursor","v":1,"cursor":{"vaultID":"v2","chains":[]}}')
    expect(await ended('--to', '-', ...cursor)).toEqual([
      3,
      expect.stringContaining('is the cursor of a follower of another vault.'),
    ])
    writeFileSync(join(folder, 'cursor'), 'nothing')
    expect(await ended('--to', '-', ...cursor)).toEqual([3, expect.stringContaining('is not the cursor of a follower.')])
    rmSync(join(folder, 'cursor'))
  })
})
