/** keys: list, rotate with a kill in between, rewrap, destroy after a question, and the rotation of look-up keys. */
import { copyFileSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCommand, startCommand } from '../../support/cli/run-command.ts'
import { emptyVaultFolder, openFolderVault, reconfigure, SECRETS, storePeople } from '../../support/cli/vault-folder.ts'

async function statesOf(folder: string) {
  const { stdout } = await runCommand(['keys', 'list', '--json'], { folder })
  const { keys, destroyed, isRotating } = JSON.parse(stdout)
  const states = keys.map(({ version, state }: { version: number; state: string }) => `${version} ${state}`)
  return { states, destroyed: destroyed.map(({ version }: { version: number }) => version), isRotating }
}

async function nameOf(folder: string, id: string): Promise<unknown> {
  const vault = await openFolderVault(folder)
  const { fields } = await vault
    .as({ actor: 'test', actorType: 'USER', roles: ['VAULT_OWNER'] })
    .getOne('people', id, { redaction: 'PLAIN_TEXT' })
  await vault.close()
  return fields.name
}

describe('keys', () => {
  it('rotate goes on where Ctrl-C or a kill ended it, and then the key before can be destroyed', async () => {
    const folder = emptyVaultFolder()
    const { id } = await storePeople(folder, { more: 1500 })
    const planned = await runCommand(['keys', 'rotate', '--dry-run', '--json'], { folder })
    expect(JSON.parse(planned.stdout)).toMatchObject({ version: 3, complete: false })
    expect((await statesOf(folder)).states).toEqual(['1 lookup', '2 active'])

    const slow = startCommand(['keys', 'rotate', '--pace', '300'], { folder })
    await slow.waitFor('bodies')
    slow.child.kill('SIGINT')
    const ended = await slow.ended
    expect([ended.code, ended.stderr.includes('run the command again to go on')]).toEqual([130, true])
    expect(await statesOf(folder)).toMatchObject({ states: ['1 lookup', '2 retired', '3 active'], isRotating: true })
    const list = await runCommand(['keys', 'list'], { folder })
    expect(list.stderr).toContain('A rotation has not ended.')

    const done = await runCommand(['keys', 'rotate', '--json'], { folder })
    expect([done.code, JSON.parse(done.stdout)]).toEqual([
      0,
      expect.objectContaining({ version: 3, complete: true, unreadable: 0 }),
    ])
    expect(JSON.parse(done.stdout).resealed.people).toBeLessThan(1501)

    const counted = await runCommand(['keys', 'list', '--count'], { folder })
    expect(counted.stdout).toMatch(/^2 +retired +\S+ +0$/m)
    const unasked = await runCommand(['keys', 'destroy', '2'], { folder })
    expect([unasked.code, unasked.stderr.includes('Specify --yes')]).toEqual([2, true])
    const active = await runCommand(['keys', 'destroy', '3', '--yes'], { folder })
    expect([active.code, active.stderr.includes('Only a retired one can be destroyed')]).toEqual([4, true])
    expect((await runCommand(['keys', 'destroy', 'two', '--yes'], { folder })).code).toBe(2)
    const destroyed = await runCommand(['keys', 'destroy', '2', '--yes', '--json'], { folder })
    expect(JSON.parse(destroyed.stdout)).toEqual({ version: 2, lost: 0 })
    expect(await statesOf(folder)).toEqual({ states: ['1 lookup', '3 active'], destroyed: [2], isRotating: false })
    expect(await nameOf(folder, id)).toBe(SECRETS.name)
  })

  it('rewrap wraps with the current key file, and the one before is no longer needed', async () => {
    const folder = emptyVaultFolder()
    const { id } = await storePeople(folder)
    renameSync(join(folder, 'keys/vault.key'), join(folder, 'keys/older.key'))
    reconfigure(folder, { keys: `{ file: 'keys/vault.key', olderFiles: ['keys/older.key'] }` })
    const first = await runCommand(['keys', 'rewrap', '--json'], { folder })
    expect(JSON.parse(first.stdout).rewrapped).toBe(1)
    const again = await runCommand(['keys', 'rewrap'], { folder })
    expect(again.stdout).toContain('Nothing to do')
    reconfigure(folder, {})
    expect(await nameOf(folder, id)).toBe(SECRETS.name)
    copyFileSync(join(folder, 'keys/older.key'), join(folder, 'keys/vault.key'))
    const older = await runCommand(['keys', 'list'], { folder })
    expect([older.code, older.stderr.includes('it was wrapped by another key')]).toEqual([4, true])
    const text = readFileSync(join(folder, 'keys/older.key'), 'utf8').split('\n')[1] ?? ''
    expect(older.stderr + first.stdout + again.stdout).not.toContain(text)
  })

  it('rotate-lookups gives new ids and tokens, which token-map maps until finish-lookups', async () => {
    const folder = emptyVaultFolder()
    const { id, tokens } = await storePeople(folder)
    expect((await runCommand(['keys', 'rotate-lookups'], { folder })).code).toBe(2)
    expect((await runCommand(['keys', 'rotate-lookups', '--yes', '--wait', '1'], { folder })).code).toBe(4)
    expect((await runCommand(['keys', 'rotate-lookups', '--yes'], { folder })).code).toBe(0)
    const map = await runCommand(['keys', 'token-map', 'people'], { folder })
    const [pair] = map.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(Object.values(pair.id)).toContain(id)
    expect(Object.values(pair.tokens.email)).toContain(tokens.email)
    expect(map.stdout).not.toContain(SECRETS.name)
    const finished = await runCommand(['keys', 'finish-lookups', '--yes', '--json'], { folder })
    expect(JSON.parse(finished.stdout)).toMatchObject({ destroyed: 1 })
    expect((await runCommand(['get', 'people', id], { folder })).code).toBe(4)
    expect((await runCommand(['keys', 'token-map', 'people'], { folder })).code).toBe(4)
  })
})
