/** status, doctor, schema and policy: what they say of a sound vault, and of each thing that is wrong with one. */
import { chmodSync, existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isSupported } from '../../../src/cli/admin/setting-findings.ts'
import { rowsOf, runCommand } from '../../support/cli/run-command.ts'
import { emptyVaultFolder, openFolderVault, reconfigure, SECRETS, storePeople } from '../../support/cli/vault-folder.ts'

async function doctor(folder: string, env: Readonly<Record<string, string>> = {}) {
  const { code, stdout, stderr } = await runCommand(['doctor', '--json'], { folder, env })
  const found = rowsOf(stdout)
  return { code, stderr, found: found.map(({ level, finding }) => `${level} ${finding.replaceAll(folder, '')}`) }
}

/** A folder whose vault has nothing to mend. */
async function soundFolder(given: Parameters<typeof emptyVaultFolder>[0] = {}) {
  const folder = emptyVaultFolder(given)
  await storePeople(folder, { more: 2 })
  chmodSync(join(folder, 'data/vault.db'), 0o600)
  return folder
}

describe('status', () => {
  it('says what a vault is made of and holds, and quotes no value', async () => {
    const folder = await soundFolder()
    const { code, stdout } = await runCommand(['status', '--json'], { folder })
    expect(code).toBe(0)
    const status = JSON.parse(stdout)
    expect(status).toMatchObject({
      vault: 'main',
      config: join(folder, 'strongroom.config.ts'),
      storage: { engine: 'sqlite', place: join(folder, 'data/vault.db'), driver: expect.stringContaining('better-sqlite3') },
      keys: [
        { version: 1, state: 'lookup' },
        { version: 2, state: 'active' },
      ],
      records: { people: 3 },
      files: { stored: 0, due: 0, scanning: 0, failed: 0 },
      isAudited: true,
      jobs: 0,
      credentials: { valid: 0, endingSoon: [] },
      schemaChanges: 0,
    })
    expect(status.storage.bytes).toBeGreaterThan(10_000)
    expect(status.audit.events).toBeGreaterThan(0)
    const shown = await runCommand(['status'], { folder })
    expect(shown.stdout).toMatch(/^records +3 in people$/m)
    for (const secret of Object.values(SECRETS)) expect(stdout + shown.stdout).not.toContain(secret)
  })
})

describe('doctor', () => {
  it('finds nothing in a sound vault, and ends with 0', async () => {
    expect(await doctor(await soundFolder())).toMatchObject({ code: 0, found: [] })
  })

  it('finds each unsafe setting and file, with what to do, and ends with 1', async () => {
    const folder = await soundFolder({ vault: `audit: 'off'`, rest: `server: { host: '0.0.0.0' }` })
    renameSync(join(folder, 'keys/vault.key'), join(folder, 'data/vault.key'))
    reconfigure(folder, {
      storage: `{ sqlite: { filename: 'data/vault.db', synchronous: 'normal' } }`,
      keys: `{ file: 'data/vault.key', olderFiles: ['keys/older.key'] }`,
      policy: `{ support: ['ALLOW READ ON people.*', 'ALLOW DETOKENIZATION ON people.country', 'ALLOW READ ON people.name'] }`,
      vault: `audit: 'off'`,
      rest: `server: { host: '0.0.0.0' }`,
    })
    chmodSync(join(folder, 'data/vault.db'), 0o644)
    chmodSync(join(folder, 'strongroom.config.ts'), 0o666)
    const { code, found } = await doctor(folder)
    expect(code).toBe(1)
    expect(found.sort()).toEqual([
      'unsafe /strongroom.config.ts can be changed by other users, who can then run code here',
      'unsafe synchronous is normal: the last commits are lost when the power fails',
      'unsafe the audit trail is off, so no one can say who read what',
      'unsafe the server listens at 0.0.0.0 without TLS, so credentials cross the network in the clear',
      'warning /data/vault.db can be read by other users, with its plain columns',
      'warning key file /data/vault.key is beside the database, so one copy of the folder has both',
      'warning older keys are still configured',
      'warning statement 2 of role support decides nothing: no column that it names has tokens: ALLOW DETOKENIZATION ON people.country',
      'warning statement 3 of role support decides nothing: other statements of the role say all of it: ALLOW READ ON people.name',
    ])
    const { stdout } = await runCommand(['doctor'], { folder })
    expect(stdout).toMatch(/^unsafe {3}.*: chmod go-w .*strongroom\.config\.ts$/m)
  })

  it('finds a key that others can read, although the vault does not open with it', async () => {
    const folder = await soundFolder()
    chmodSync(join(folder, 'keys/vault.key'), 0o644)
    const { code, found } = await doctor(folder)
    expect(code).toBe(1)
    expect(found).toEqual([
      'unsafe /keys/vault.key, which has a key or a secret, can be read or changed by other users',
      expect.stringMatching(/^unsafe .*Key file .* is accessible to other users/),
    ])
  })

  it('finds credentials that end soon or have unknown roles, and an unfinished rotation', async () => {
    const folder = await soundFolder()
    const vault = await openFolderVault(folder)
    const owner = vault.as({ actor: 'test', actorType: 'USER', roles: ['VAULT_OWNER'] })
    const verifier = 'ab'.repeat(32)
    await owner.createCredential({
      kind: 'API_KEY',
      name: 'a',
      roles: ['gone', 'support'],
      verifier,
      expiresAt: Date.now() + 60_000,
    })
    const ending = new AbortController()
    await vault.rotateKeys({ signal: ending.signal, onProgress: () => ending.abort() }).catch(() => {})
    await vault.close()
    const { code, found } = await doctor(folder)
    expect(code).toBe(0)
    expect(found).toEqual([
      'warning a rotation of keys has not ended',
      expect.stringMatching(/^warning rotateKeys of .* ended before it was done$/),
      expect.stringMatching(/^warning credential [\w-]+ ends at /),
      expect.stringMatching(/^warning credential [\w-]+ has role gone, which the policy does not define$/),
    ])
  })

  it('finds a policy and a schema with which no server starts', async () => {
    const folder = await soundFolder()
    reconfigure(folder, { columns: `name: column.integer()`, policy: `{ support: ['ALLOW READ ON people.other'] }` })
    const { code, found } = await doctor(folder)
    expect(code).toBe(1)
    expect(found).toContainEqual(expect.stringContaining('unsafe statement 1 of role "support"'))
    expect(found).toContainEqual(
      expect.stringContaining('unsafe option type, token of column "name" of table "people" cannot change'),
    )
  })

  it('knows the versions of Node', () => {
    expect(['22.14.0', '22.20.1', '24.0.0', '26.1.0'].map(isSupported)).toEqual([true, true, true, true])
    expect(['20.19.0', '22.13.9', '23.11.0'].map(isSupported)).toEqual([false, false, false])
  })
})

const NARROWER = `name: column.string({ redaction: 'MASKED', mask: mask.keepFirst(2), token: 'random' }),
  note: column.string()`

describe('schema', () => {
  it('check lists the columns, without a storage or a key', async () => {
    const folder = emptyVaultFolder()
    const { code, stdout, stderr } = await runCommand(['schema', 'check', '--json'], { folder })
    expect([code, stderr]).toEqual([0, 'The schema is valid: 1 tables, 4 columns.\n'])
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).column),
    ).toEqual(['name', 'ssn', 'email', 'country'])
    expect(existsSync(join(folder, 'data/vault.db'))).toBe(false)
    reconfigure(folder, { columns: `name: column.string({ mask: { kind: 'none' } })` })
    const wrong = await runCommand(['schema', 'check'], { folder })
    expect(wrong.code).toBe(3)
    expect(wrong.stderr).toContain('Invalid schema')
  })

  it('plan says what would change, and nothing does until apply', async () => {
    const folder = await soundFolder()
    reconfigure(folder, { columns: NARROWER })
    const { code, stdout } = await runCommand(['schema', 'plan', '--json'], { folder })
    expect(code).toBe(0)
    const { steps, refusals, leftOut } = JSON.parse(stdout)
    expect(steps).toEqual([
      expect.objectContaining({ kind: 'now', table: 'people', column: 'note', what: 'added' }),
      expect.objectContaining({ kind: 'now', table: 'people', column: 'name', what: 'mask changed' }),
    ])
    expect(refusals).toEqual([])
    expect(leftOut).toEqual(['ssn', 'email', 'country'].map((name) => ({ table: 'people', column: name, rows: 3 })))
    const got = await runCommand(['get', 'people', '--json', '--limit', '1'], { folder })
    expect(JSON.parse(got.stdout)).not.toHaveProperty('note')
    expect(got.stderr).toContain('The schema of the configuration is not the stored one, which is used.')
    expect((await runCommand(['schema', 'apply'], { folder })).code).toBe(0)
    const after = JSON.parse((await runCommand(['schema', 'plan', '--json'], { folder })).stdout)
    expect([after.steps, after.leftOut]).toEqual([[], leftOut])
  })

  it('plan ends with 1 for what is refused, as a table too', async () => {
    const folder = await soundFolder()
    reconfigure(folder, { columns: `name: column.integer()` })
    const { code, stdout, stderr } = await runCommand(['schema', 'plan'], { folder })
    expect(code).toBe(1)
    expect(stdout).toContain('option type, token of column "name" of table "people" cannot change')
    expect(stderr).toContain('The schema is refused. Nothing was changed.')
    expect((await runCommand(['schema', 'apply'], { folder })).code).toBe(4)
  })
})

describe('policy', () => {
  it('check finds every wrong statement, without a storage or a key', async () => {
    const folder = emptyVaultFolder({
      policy: `{ a: ['ALLOW READ ON people.*', 'ALLOW READ ON people.other'], b: ['ALLOW FLY ON people.*'] }`,
    })
    const { code, stdout } = await runCommand(['policy', 'check', '--json'], { folder })
    expect(code).toBe(1)
    const found = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(found.map(({ role, statement }) => `${role} ${statement}`)).toEqual(['a 2', 'b 1'])
    expect(found[0].finding).toContain('Column "other" of table "people" does not exist')
    const sound = await runCommand(['policy', 'check'], { folder: emptyVaultFolder() })
    expect([sound.code, sound.stderr]).toEqual([0, 'Every statement is valid, and decides something.\n'])
    expect(existsSync(join(folder, 'data/vault.db'))).toBe(false)
  })

  it('explain says what a role may do, with attributes of its context', async () => {
    const folder = emptyVaultFolder({ policy: `{ local: ['ALLOW READ ON people.name WHERE country = ctx.home'] }` })
    const explain = async (...more: string[]) => {
      const { stdout } = await runCommand(['policy', 'explain', 'local', 'read', 'people', '--json', ...more], { folder })
      return JSON.parse(stdout).columns[0].decision
    }
    expect([await explain(), await explain('--context', 'home=SE')]).toEqual(['DENIED', 'CONDITIONAL'])
    const unknown = await runCommand(['policy', 'explain', 'local', 'READ', 'nothing'], { folder })
    expect(unknown.code).toBe(4)
  })
})
