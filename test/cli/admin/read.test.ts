/** get, query and detokenize: at the caller's levels, and with values where no shell keeps them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createApiKey } from '../../../src/http/index.ts'
import { rowsOf, runCommand } from '../../support/cli/run-command.ts'
import { emptyVaultFolder, openFolderVault, SECRETS, SHOWN, storePeople } from '../../support/cli/vault-folder.ts'

async function seeded() {
  const folder = emptyVaultFolder()
  return { folder, ...(await storePeople(folder, { more: 3 })) }
}

describe('get', () => {
  it('shows records at the levels of a role, and of its owner, as a table or as lines', async () => {
    const { folder, id } = await seeded()
    const support = await runCommand(['get', 'people', id, '--role', 'support', '--json'], { folder })
    expect(rowsOf(support.stdout)).toEqual([{ id, ...SHOWN, ssn: '*REDACTED*', country: 'SE' }])
    const owner = await runCommand(['get', 'people', id, '--redaction', 'PLAIN_TEXT', '--columns', 'name,ssn', '--json'], {
      folder,
    })
    expect(rowsOf(owner.stdout)).toEqual([{ id, name: SECRETS.name, ssn: SECRETS.ssn }])
    const asked = await runCommand(['get', 'people', id, '--role', 'support', '--redaction', 'PLAIN_TEXT'], { folder })
    expect(asked.stdout.split('\n')[0]).toMatch(/^id +name +ssn +email +country$/)
    for (const secret of Object.values(SECRETS)) expect(support.stdout + asked.stdout + asked.stderr).not.toContain(secret)
  })

  it('pages by a cursor, and finds by a value that comes on standard input', async () => {
    const { folder, id } = await seeded()
    const first = await runCommand(['get', 'people', '--limit', '3', '--json'], { folder })
    expect(rowsOf(first.stdout)).toHaveLength(3)
    const [, cursor = ''] = /--after (\S+)/.exec(first.stderr) ?? []
    const rest = await runCommand(['get', 'people', '--after', cursor, '--json'], { folder })
    expect([rowsOf(rest.stdout).length, rest.stderr]).toEqual([1, ''])
    const found = await runCommand(['get', 'people', '--where', 'email', '--json'], { folder, input: `${SECRETS.email}\n` })
    expect(rowsOf(found.stdout).map((row) => row.id)).toEqual([id])
    const plain = await runCommand(['get', 'people', '--where', 'country=NO', '--json'], { folder })
    expect(rowsOf(plain.stdout)).toHaveLength(3)
  })

  it('refuses a sealed value in the line, an unknown id, a role without a grant', async () => {
    const { folder } = await seeded()
    const typed = await runCommand(['get', 'people', '--where', `email=${SECRETS.email}`], { folder })
    expect(typed.code).toBe(2)
    expect(typed.stderr).toBe(
      'strongroom: Column email is sealed, and shells keep what is typed. Specify --where email, and pass its values on standard input, one a line.\n',
    )
    expect((await runCommand(['get', 'people', 'unknown'], { folder })).code).toBe(4)
    expect((await runCommand(['get', 'people', '--role', 'guest'], { folder })).code).toBe(4)
    expect((await runCommand(['get', 'people', '--limit', '0'], { folder })).code).toBe(2)
    expect((await runCommand(['get'], { folder })).code).toBe(2)
  })

  it('acts as an API key of the environment', async () => {
    const { folder, id } = await seeded()
    const vault = await openFolderVault(folder)
    const owner = vault.as({ actor: 'test', actorType: 'USER', roles: ['VAULT_OWNER'] })
    const { apiKey } = await createApiKey(owner, { name: 'a', roles: ['support'] })
    await vault.close()
    const args = ['get', 'people', id, '--api-key-env', 'KEY', '--json']
    const { stdout } = await runCommand(args, { folder, env: { KEY: apiKey } })
    expect(rowsOf(stdout)).toMatchObject([SHOWN])
    const wrong = await runCommand(args, { folder, env: { KEY: `${apiKey.slice(0, -2)}${apiKey.endsWith('AA') ? 'BB' : 'AA'}` } })
    expect([wrong.code, wrong.stdout]).toEqual([4, ''])
    expect(wrong.stderr).not.toContain(apiKey.slice(-20, -1))
  })
})

describe('query', () => {
  it('takes its text as an argument or a file, and its values as a file or standard input', async () => {
    const { folder } = await seeded()
    const count = await runCommand(['query', "SELECT COUNT(*) AS many FROM people WHERE country = 'NO'", '--json'], {
      folder,
    })
    expect(rowsOf(count.stdout)).toEqual([{ many: 3 }])
    const sql = 'SELECT name, email FROM people WHERE email = $1'
    const values = JSON.stringify([SECRETS.email])
    const typed = await runCommand(['query', sql, '--values', '-', '--role', 'support', '--json'], { folder, input: values })
    expect(rowsOf(typed.stdout)).toEqual([SHOWN])
    writeFileSync(join(folder, 'values.json'), values)
    const both = await runCommand(['query', '--file', '-', '--values', 'values.json', '--json'], { folder, input: sql })
    expect(rowsOf(both.stdout)).toHaveLength(1)
  })

  it('refuses values in the line, a missing text, a wrong one, and says that it was cut', async () => {
    const { folder } = await seeded()
    const typed = await runCommand(['query', 'SELECT name FROM people', '--values', `["${SECRETS.email}"]`], { folder })
    expect([typed.code, typed.stderr.includes('shells keep what is typed'), typed.stderr.includes(SECRETS.email)]).toEqual([
      2,
      true,
      false,
    ])
    expect((await runCommand(['query'], { folder })).code).toBe(2)
    expect((await runCommand(['query', 'SELEC 1'], { folder })).code).toBe(4)
    expect((await runCommand(['query', 'SELECT name FROM people', '--values', 'none.json'], { folder })).code).toBe(5)
    const vault = await openFolderVault(folder)
    const owner = vault.as({ actor: 'test', actorType: 'USER', roles: ['VAULT_OWNER'] })
    await owner.insert(
      'people',
      Array.from({ length: 30 }, () => ({ fields: { country: 'DK' } })),
    )
    await vault.close()
    const cut = await runCommand(['query', 'SELECT country FROM people', '--json'], { folder })
    expect([cut.code, rowsOf(cut.stdout).length]).toEqual([0, 25])
    expect(cut.stderr).toContain('more than these 25 records')
  })
})

describe('detokenize', () => {
  it('shows values at the level of the caller, and ends with 1 if a token has none', async () => {
    const { folder, tokens } = await seeded()
    const email = tokens.email ?? ''
    const owner = await runCommand(['detokenize', email, '--redaction', 'PLAIN_TEXT', '--json'], { folder })
    expect([owner.code, rowsOf(owner.stdout)]).toEqual([
      0,
      [{ token: email, table: 'people', column: 'email', value: SECRETS.email }],
    ])
    const input = `${email}\nnone\n`
    const support = await runCommand(['detokenize', '-', '--role', 'support', '--json'], { folder, input })
    expect([support.code, rowsOf(support.stdout)]).toEqual([
      1,
      [
        { token: email, table: 'people', column: 'email', value: SHOWN.email },
        { token: 'none', error: 'not_found' },
      ],
    ])
    const none = await runCommand(['detokenize', '--json'], { folder, input: 'none' })
    expect([none.code, rowsOf(none.stdout)]).toEqual([1, [{ token: 'none', error: 'not_found' }]])
    expect((await runCommand(['detokenize'], { folder })).code).toBe(2)
  })
})
