/** Each failure of the commands that look at a vault is one clear sentence and its exit code: a missing vault, key or column, a full, read-only or locked file. */
import { chownSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runCommand } from '../../support/cli/run-command.ts'
import { emptyVaultFolder, reconfigure, SECRETS, storePeople } from '../../support/cli/vault-folder.ts'
import { mountSmallDisk } from '../../support/postgres/small-disk.ts'

/** Runs a line that must fail. Returns its code and what it says, in one line. */
async function failureOf(folder: string, args: readonly string[]) {
  const { code, stdout, stderr } = await runCommand(args, { folder })
  expect(stderr.trim().split('\n')).toHaveLength(1)
  for (const secret of Object.values(SECRETS)) expect(stdout + stderr).not.toContain(secret)
  return [code, stderr.trim().replaceAll(folder, '')]
}

describe('a line fails', () => {
  it('where there is no vault, and makes none', async () => {
    const folder = emptyVaultFolder()
    expect(await failureOf(folder, ['status'])).toEqual([
      5,
      'strongroom: /data/vault.db does not exist, so there is no vault yet. `strongroom serve` or `strongroom schema apply` makes it; or correct vault.storage.',
    ])
    expect([existsSync(join(folder, 'data/vault.db')), existsSync(join(folder, 'keys/vault.key'))]).toEqual([false, false])
    new Database(join(folder, 'data/vault.db')).close()
    expect(await failureOf(folder, ['get', 'people'])).toEqual([
      4,
      expect.stringContaining('Cannot open the vault: the storage has none.'),
    ])
  })

  it('without a configuration, its key, a secret, or the id of the vault', async () => {
    const folder = emptyVaultFolder()
    await storePeople(folder)
    expect(await failureOf(folder, ['keys', 'list', '--config', 'none.ts'])).toEqual([
      3,
      expect.stringContaining('does not exist'),
    ])
    reconfigure(folder, { vault: `id: 'other'` })
    expect(await failureOf(folder, ['keys', 'list'])).toEqual([4, expect.stringContaining('belongs to a vault with another id')])
    reconfigure(folder, { keys: `{ env: 'VAULT_KEY' }` })
    expect(await failureOf(folder, ['keys', 'list'])).toEqual([3, expect.stringContaining('VAULT_KEY is not set')])
    reconfigure(folder, {})
    rmSync(join(folder, 'keys/vault.key'))
    expect(await failureOf(folder, ['keys', 'list'])).toEqual([
      4,
      expect.stringContaining('key file /keys/vault.key does not exist'),
    ])
  })

  it('with a wrong table, column, option or word', async () => {
    const folder = emptyVaultFolder()
    await storePeople(folder)
    expect(await failureOf(folder, ['get', 'nothing'])).toEqual([4, expect.stringContaining('"nothing"')])
    expect(await failureOf(folder, ['get', 'people', '--columns', 'nothing'])).toEqual([4, expect.stringContaining('nothing')])
    expect(await failureOf(folder, ['get', 'people', '--redaction', 'ALL'])).toEqual([
      2,
      expect.stringContaining('--redaction must be one of'),
    ])
    expect((await runCommand(['keys', 'rotate', '--fast'], { folder })).code).toBe(2)
  })

  it('while another process writes the file, after ten seconds', async () => {
    const folder = emptyVaultFolder()
    await storePeople(folder)
    const other = new Database(join(folder, 'data/vault.db'))
    onTestFinished(() => void other.close())
    other.exec('begin immediate')
    expect(await failureOf(folder, ['credentials', 'list'])).toEqual([
      5,
      expect.stringContaining('Another connection holds the SQLite file'),
    ])
    other.exec('rollback')
    expect((await runCommand(['credentials', 'list'], { folder })).code).toBe(0)
  })

  it('on a full and on a read-only disk', async ({ skip }) => {
    const disk = mountSmallDisk(2)
    if (disk === undefined) return skip('This run may not mount a file system.')
    onTestFinished(() => disk.unmount())
    chownSync(disk.directory, process.getuid?.() ?? 0, process.getgid?.() ?? 0)
    const folder = emptyVaultFolder({ storage: `{ sqlite: { filename: '${disk.directory}/vault.db' } }` })
    expect((await runCommand(['schema', 'apply'], { folder })).code).toBe(0)
    const filler = new Database(join(disk.directory, 'filler.db'))
    filler.exec('create table filler (content blob)')
    expect(() => {
      for (;;) filler.exec('insert into filler values (zeroblob(4096))')
    }).toThrow()
    const full = await runCommand(['credentials', 'create', '--name', 'a', '--grant', 'support'], { folder })
    expect([full.code, full.stdout]).toEqual([5, ''])
    expect(full.stderr).toMatch(/full|cannot read or write/)
    filler.close()
    disk.setWritable(false)
    const readOnly = await runCommand(['status'], { folder })
    expect(readOnly.code).not.toBe(0)
    expect([4, 5]).toContain(readOnly.code)
    expect(readOnly.stderr.trim().split('\n')).toHaveLength(1)
    disk.setWritable(true)
  })
})
