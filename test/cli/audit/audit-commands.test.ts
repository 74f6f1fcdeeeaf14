/** The commands of the audit trail: list, verify, export and checkpoint, on a vault in a file. */
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { AUDIT } from '../../../src/cli/audit/commands.ts'
import { exitCodeOf, sentenceOf } from '../../../src/cli/failure.ts'
import { createProgram } from '../../../src/cli/program.ts'
import { openClients } from '../../support/audit/audited-clients.ts'
import { batchesOf, linesOf } from '../../support/audit/followed-trail.ts'
import { assertNoPlaintext, SECRETS } from '../../support/cli/follow-world.ts'
import { commandFolder } from '../../support/cli/run-command.ts'
import { sqliteEngine } from '../../support/storages/engines.ts'
import { CLERK, OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const SUPPORT = join(import.meta.dirname, '../../support')

describe('on a vault with a trail', () => {
  const engine = sqliteEngine()

  /** A vault with six events, and a function that runs a line of the command on it. */
  async function openWorld() {
    const place = engine.fresh()
    const vault = await openClients(place.open())
    const [name, email] = SECRETS
    const session = vault.as({ ...OWNER, request: { requestID: 'r-1' } })
    await session.insert('clients', [{ fields: { name, email } }])
    for (let read = 0; read < 4; read++) await vault.as(OWNER).get('clients')
    await vault
      .as({ ...CLERK, actor: 'bo\u001b[31m' })
      .get('clients')
      .catch(() => {})
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const folder = commandFolder({
      'strongroom.config.ts': `
        import { openStorage } from ${JSON.stringify(join(SUPPORT, 'storages/open-storage.ts'))}
        import { clients } from ${JSON.stringify(join(SUPPORT, 'audit/audited-clients.ts'))}
        const storage = () => openStorage(${JSON.stringify(place.address())})
        export default { vault: { id: 'v1', schema: clients, storage, keys: { env: 'VAULT_KEY' } } }
      `,
      'audit.key': privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      'audit.pub': publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    })
    const file = (named: string) => join(folder, named)
    async function run(...line: readonly string[]) {
      const printed = { stdout: '', stderr: '' }
      const stream = (to: 'stdout' | 'stderr') => ({
        write(text: string, done?: () => void) {
          printed[to] += text
          done?.()
        },
      })
      const program = createProgram(AUDIT, {
        stdout: stream('stdout'),
        stderr: stream('stderr'),
        environment: { VAULT_KEY: TEST_SECRET },
        onInterrupt: () => {},
      })
      const ended = await program.run(['audit', ...line, '--config', file('strongroom.config.ts')]).then(
        (code) => ({ code, error: '' }),
        (error: unknown) => ({ code: exitCodeOf(error), error: sentenceOf(error) }),
      )
      assertNoPlaintext(JSON.stringify([printed, ended]))
      return { ...ended, ...printed }
    }
    return { vault, file, run }
  }

  it('lists events by filters, as a table and as lines', async () => {
    const { run } = await openWorld()
    const all = await run('list')
    expect(all.stdout.split('\n')[0]).toMatch(/^time +actor +purpose +action +code +resources +message$/)
    expect(all.stdout.split('\n')).toHaveLength(8)
    expect(all.stdout).toContain('\\u001b[31m')
    expect(all.stdout).not.toContain('\u001b')
    const lines = async (...filter: string[]) => {
      const { stdout } = await run('list', '--json', ...filter)
      return stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
    }
    expect(await lines('--action', 'INSERT')).toMatchObject([{ request: { actionType: 'INSERT' } }])
    expect(await lines('--request', 'r-1')).toMatchObject([{ context: { requestID: 'r-1' } }])
    expect(await lines('--actor', CLERK.actor)).toEqual([])
    expect(await lines('--about', 'TABLE/clients', '--limit', '2')).toHaveLength(2)
    expect(await lines('--until', '2020-01-01T00:00:00Z')).toEqual([])
    expect(await lines('--action', 'GET', '--from', '2020-01-01T00:00:00Z')).toHaveLength(5)
    expect(await run('list', '--from', 'noon')).toMatchObject({ code: 4, error: expect.stringContaining('startTime') })
    expect(await run('list', '--role', 'clerk')).toMatchObject({ code: 4, error: expect.stringContaining('AUDIT') })
  })

  it('exports, signs and verifies, and finds what was removed and edited', async () => {
    const { vault, file, run } = await openWorld()
    const key = ['--key-id', 'audit-2026', '--key-file', file('audit.key')]
    expect(await run('checkpoint', ...key, '--to', file('checkpoint.json'))).toMatchObject({
      code: 0,
      stdout: `Signed 6 events to ${file('checkpoint.json')}. Keep it elsewhere.\n`,
    })
    expect(await run('checkpoint', ...key, '--to', file('checkpoint.json'))).toMatchObject({
      code: 5,
      error: expect.stringContaining('It exists already.'),
    })
    const checkpoint = ['--checkpoint', file('checkpoint.json')]
    const publicKey = ['--public-key', `audit-2026=${file('audit.pub')}`]
    expect(await run('verify', ...checkpoint)).toMatchObject({ code: 0, stdout: 'Intact: 6 events, 1 checkpoint compared.\n' })
    expect(await run('export', '--to', file('audit.ndjson'), ...checkpoint)).toMatchObject({ code: 0 })
    const printed = await run('export', ...checkpoint)
    expect(printed.stdout).toBe(readFileSync(file('audit.ndjson'), 'utf8'))
    const exported = ['verify', '--export', file('audit.ndjson'), ...checkpoint, ...publicKey]
    expect(await run(...exported)).toMatchObject({ code: 0, stdout: 'Intact: 6 events, 1 checkpoint compared.\n' })
    const lines = linesOf(await batchesOf(vault))
    writeFileSync(file('old'), `${lines.slice(0, 4).join('\n')}\n`)
    writeFileSync(file('new'), `${lines.slice(3).join('\n')}\n`)
    const delivered = ['verify', '--delivered', file('old'), '--delivered', file('new')]
    expect(await run(...delivered, ...checkpoint, ...publicKey)).toMatchObject({ code: 0 })
    writeFileSync(file('new'), `${lines.slice(4, -1).join('\n')}\n`)
    expect(await run(...delivered)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('5 events, no checkpoint compared'),
    })
    expect(await run(...delivered, ...checkpoint)).toMatchObject({
      code: 1,
      stdout: 'Not intact: Event 6 of audit chain 1 is missing: a checkpoint has it.\n',
    })
    writeFileSync(file('audit.ndjson'), readFileSync(file('audit.ndjson'), 'utf8').replace('"r-1"', '"r-2"'))
    expect(await run('verify', '--export', file('audit.ndjson'), '--json')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('"ok":false'),
    })
    writeFileSync(file('other.pub'), generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }))
    const other = ['--public-key', `audit-2026=${file('other.pub')}`]
    expect(await run('verify', '--delivered', file('old'), ...checkpoint, ...other)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('is not signed by one of the keys'),
    })
  })

  it('refuses what does not fit with one sentence and a code', async () => {
    const { file, run } = await openWorld()
    expect(await run('checkpoint', '--key-file', file('audit.key'))).toMatchObject({
      code: 2,
      error: 'Name the key with --key-id.',
    })
    expect(await run('checkpoint', '--key-id', 'a')).toMatchObject({ code: 2, error: expect.stringContaining('--key-env') })
    expect(await run('checkpoint', '--key-id', 'a', '--key-file', file('audit.pub'))).toMatchObject({
      code: 4,
      error: expect.stringContaining('`privateKey` must be'),
    })
    expect(await run('verify', '--checkpoint', file('audit.key'))).toMatchObject({
      code: 3,
      error: expect.stringContaining('is not a checkpoint.'),
    })
    expect(await run('verify', '--checkpoint', file('none'))).toMatchObject({
      code: 5,
      error: expect.stringContaining('No such file'),
    })
    expect(await run('verify', '--public-key', 'a=b')).toMatchObject({ code: 2 })
    expect(await run('verify', '--export', '-', '--delivered', 'x')).toMatchObject({ code: 2 })
    expect(await run('verify', '--export', file('audit.pub'))).toMatchObject({ code: 1 })
    expect(await run('export', '--to', file('none/audit.ndjson'))).toMatchObject({ code: 5 })
    expect(existsSync(file('none'))).toBe(false)
  })
})
