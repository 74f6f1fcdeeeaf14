/** credentials: made with the key shown once or in a file of its own, listed without what verifies them, and revoked. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { rowsOf, runCommand } from '../../support/cli/run-command.ts'
import { emptyVaultFolder, storePeople } from '../../support/cli/vault-folder.ts'

const CREATE = ['credentials', 'create', '--name', 'shop', '--grant', 'support'] as const

describe('credentials', () => {
  it('of a role that the policy does not define is said to allow nothing', async () => {
    const folder = emptyVaultFolder()
    await storePeople(folder)
    const made = await runCommand(['credentials', 'create', '--name', 'a', '--grant', 'suport'], { folder })
    expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('The policy does not define role suport: it allows')])
  })

  it('an API key is shown this once, works, is stored nowhere, and ends when it is revoked', async () => {
    const folder = emptyVaultFolder()
    const { id } = await storePeople(folder)
    const made = await runCommand([...CREATE, '--grant', 'VAULT_VIEWER', '--expires', '90d', '--context', 'team=red'], { folder })
    expect(made.stderr).not.toContain('The policy does not define')
    const apiKey = made.stdout.trim()
    expect([made.code, apiKey]).toEqual([0, expect.stringMatching(/^sr_/)])
    const get = () => runCommand(['get', 'people', id, '--api-key-env', 'KEY'], { folder, env: { KEY: apiKey } })
    expect((await get()).code).toBe(0)
    const list = await runCommand(['credentials', 'list', '--json'], { folder })
    const [row] = rowsOf(list.stdout)
    expect(row).toMatchObject({
      name: 'shop',
      kind: 'API_KEY',
      roles: ['support', 'VAULT_VIEWER'],
      state: 'valid',
      context: { team: 'red' },
    })
    expect(Date.parse(row.expires) - Date.now()).toBeGreaterThan(89 * 86_400_000)
    expect(Object.keys(row)).not.toContain('verifier')
    expect((await runCommand(['credentials', 'revoke', row.keyId], { folder })).code).toBe(0)
    expect((await get()).code).toBe(4)
    expect((await runCommand(['credentials', 'list'], { folder })).stderr).toBe('There are no credentials.\n')
    expect(rowsOf((await runCommand(['credentials', 'list', '--all', '--json'], { folder })).stdout)).toMatchObject([
      { state: 'revoked' },
    ])
    const secret = apiKey.slice(-49)
    for (const name of readdirSync(join(folder, 'data')))
      expect(readFileSync(join(folder, 'data', name)).includes(secret)).toBe(false)
  })

  it('a service account has its key in a new file with mode 0600', async () => {
    const folder = emptyVaultFolder({ rest: `http: { tokenURI: 'https://vault.acme.example/v1/auth/sa/oauth/token' }` })
    await storePeople(folder)
    const made = await runCommand([...CREATE, '--service-account', '--out', 'account.json', '--json'], { folder })
    const { keyId, file } = JSON.parse(made.stdout)
    const key = JSON.parse(readFileSync(join(folder, 'account.json'), 'utf8'))
    expect(key).toMatchObject({ keyID: keyId, clientName: 'shop', tokenURI: 'https://vault.acme.example/v1/auth/sa/oauth/token' })
    expect([file, statSync(join(folder, 'account.json')).mode & 0o777]).toEqual(['account.json', 0o600])
    expect(made.stdout + made.stderr).not.toContain('PRIVATE KEY')
    const again = await runCommand([...CREATE, '--service-account', '--out', 'account.json'], { folder })
    expect([again.code, again.stderr]).toEqual([5, 'strongroom: account.json: It exists already.\n'])
    const toFile = await runCommand([...CREATE, '--out', 'api.key'], { folder })
    expect(toFile.stdout + toFile.stderr).not.toContain(readFileSync(join(folder, 'api.key'), 'utf8').trim())
  })

  it('refuses what is missing or wrong, a caller who is no owner, and leaves no file behind', async () => {
    const folder = emptyVaultFolder()
    await storePeople(folder)
    writeFileSync(join(folder, 'taken'), '')
    const refused: readonly (readonly [readonly string[], number])[] = [
      [['credentials', 'create', '--name', 'a'], 2],
      [[...CREATE, '--expires', 'soon'], 2],
      [[...CREATE, '--expires', '2020-01-01'], 4],
      [[...CREATE, '--context', 'team'], 2],
      [[...CREATE, '--service-account'], 2],
      [[...CREATE, '--service-account', '--out', 'a.json'], 2],
      [[...CREATE, '--role', 'support', '--out', 'b.json'], 4],
      [[...CREATE, '--out', 'taken'], 5],
      [['credentials', 'revoke', 'unknown'], 4],
    ]
    for (const [line, code] of refused) expect([line, (await runCommand(line, { folder })).code]).toEqual([line, code])
    expect(readdirSync(folder).filter((name) => name.endsWith('.json'))).toEqual([])
  })
})
