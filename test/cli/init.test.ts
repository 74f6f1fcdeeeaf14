/** The command init: makes a vault that opens, shows the key of its owner once, and never overwrites. */
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commandFolder, runCommand } from '../support/cli/run-command.ts'

describe('init', () => {
  it('makes a configuration, a schema, a key file and an owner, whose key is stored nowhere', async () => {
    const folder = commandFolder()
    const { code, stdout } = await runCommand(['init', '--yes', '--json'], { folder })
    expect(code).toBe(0)
    const { apiKey, files } = JSON.parse(stdout)
    expect(files).toEqual(['schema.ts', 'strongroom.config.ts'])
    expect(apiKey).toMatch(/^sr_/)
    expect(statSync(join(folder, 'vault.key')).mode & 0o777).toBe(0o600)
    expect(readFileSync(join(folder, '.gitignore'), 'utf8').split('\n')).toContain('vault.key')
    const names = readdirSync(folder).filter((name) => name !== 'node_modules')
    for (const name of names) expect(readFileSync(join(folder, name)).includes(apiKey), name).toBe(false)
  })

  it('changes nothing where one of the files exists', async () => {
    const folder = commandFolder({ 'schema.ts': 'export const mine = 1' })
    const { code, stderr } = await runCommand(['init', '--yes'], { folder })
    expect([code, stderr]).toEqual([
      3,
      'strongroom: schema.ts exists already. Nothing was changed. Run init in another folder, or remove it.\n',
    ])
    expect(readdirSync(folder).sort()).toEqual(['node_modules', 'schema.ts'])
  })

  it('leaves no file behind when the vault cannot be opened', async () => {
    const folder = commandFolder()
    const { code, stderr } = await runCommand(['init', '--yes', '--storage', 'postgres'], { folder, env: { DATABASE_URL: '' } })
    expect([code, stderr]).toEqual([
      3,
      'strongroom: vault.storage.postgres.connectionString: the environment variable DATABASE_URL is not set. Set it to the secret.\n',
    ])
    expect(readdirSync(folder)).not.toContain('strongroom.config.ts')
  })

  it('asks only on a terminal, and appends to a .gitignore', async () => {
    const folder = commandFolder({ '.gitignore': 'dist' })
    expect((await runCommand(['init'], { folder })).code).toBe(2)
    expect((await runCommand(['init', '--yes'], { folder })).code).toBe(0)
    expect(readFileSync(join(folder, '.gitignore'), 'utf8')).toBe('dist\nvault.key\nvault.db\nvault.db-wal\nvault.db-shm\n')
  })

  it('names the package when it is not installed', async () => {
    const folder = commandFolder()
    rmSync(join(folder, 'node_modules/strongroom'))
    const { code, stderr } = await runCommand(['init', '--yes'], { folder })
    expect([code, stderr]).toEqual([
      3,
      'strongroom: This folder does not have the package. Install it: npm install strongroom better-sqlite3\n',
    ])
  })
})
