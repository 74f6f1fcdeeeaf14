/** Every command in a process of its own, which ends when the command has: other tests run lines in a warm one. */
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { commandFolder, runCommand, runProcess } from '../support/cli/run-command.ts'
import { configText, emptyVaultFolder, SECRETS, storePeople } from '../support/cli/vault-folder.ts'

/** They run until a signal ends them, in tests of their own. */
const ENDLESS = ['audit follow', 'serve']
const CHOICE = 'persons --column mail=email --column full_name=name --vault-table people'
const RULES = `{ subjects: { person: { table: 'people' } } }`

/** A line, the exit code of one that refuses, and what one reads from standard input. */
type Line = readonly [line: string, code?: number, input?: string]
/** What lines name: a person and a token of the vault. */
type Named = { readonly id: string; readonly token: string }

/** Lines by subject, in an order in which each finds what it needs. */
const LINES: Readonly<Record<string, (named: Named) => readonly Line[]>> = {
  'looks, reads and changes keys': ({ token }) => [
    ['status'],
    ['doctor'],
    ['schema check'],
    ['schema plan'],
    ['schema apply'],
    ['policy check'],
    ['policy explain support READ people'],
    ['get people --where email', 0, SECRETS.email],
    ['query --file -', 0, 'SELECT country FROM people'],
    ['detokenize -', 0, token],
    ['keys list'],
    ['keys rotate'],
    ['keys rewrap'],
    ['keys destroy 2 --yes'],
    ['keys rotate-lookups --yes --wait 1', 4],
    ['keys token-map people', 4],
    ['keys finish-lookups --yes', 4],
  ],
  'is of credentials, subjects, holds and slow work': ({ id }) => [
    ['credentials create --name shop --grant support'],
    ['credentials list'],
    ['credentials revoke unknown', 4],
    ['schema apply'],
    [`subject find person ${id}`],
    [`subject export person ${id}`],
    [`hold place people ${id} --reason case`],
    ['hold list'],
    ['hold lift unknown --yes', 4],
    [`subject forget person ${id} --reason request --yes`, 4],
    ['subject forgotten'],
    ['maintenance'],
    ['sweep'],
    ['compact'],
    ['purge-disk'],
  ],
  'is of the trail, and moves data': () => [
    ['audit list'],
    ['audit verify'],
    ['audit export --to audit.ndjson'],
    ['audit checkpoint --key-id audit --key-file audit.key'],
    ['import people -', 0, 'name\nBo\n'],
    ['export people'],
    [`adopt plan ${CHOICE}`],
    [`adopt run ${CHOICE}`],
    [`adopt status ${CHOICE}`],
    [`adopt switch ${CHOICE}`],
    [`adopt finish ${CHOICE}`],
    [`adopt back ${CHOICE}`],
    ['backup vault.backup'],
    ['move --to-sqlite moved.db'],
    ['restore vault.backup --config restored.config.ts'],
  ],
}

/** A folder with a vault, a table to adopt, and what lines read. */
async function filledFolder(): Promise<Named & { readonly folder: string }> {
  const folder = emptyVaultFolder({ rules: RULES })
  const { id, tokens } = await storePeople(folder)
  const { privateKey } = generateKeyPairSync('ed25519')
  writeFileSync(join(folder, 'audit.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const restored = configText({ rules: RULES, storage: `{ sqlite: { filename: 'restored.db' } }` })
  writeFileSync(join(folder, 'restored.config.ts'), restored)
  const database = new Database(join(folder, 'data/vault.db'))
  database.exec(`create table persons (id integer primary key, full_name text, mail text)`)
  database.exec(`insert into persons values (1, 'Cy', 'cy@x.example')`)
  database.close()
  return { folder, id, token: tokens.email ?? '' }
}

describe('a process of its own ends with the exit code of a line that', () => {
  it.each(Object.entries(LINES))('%s', async (_, lines) => {
    const { folder, ...named } = await filledFolder()
    for (const [line, code = 0, input = ''] of lines(named)) {
      const ended = await runProcess(line.split(' '), { folder, input })
      expect([line, ended.code, ended.stderr]).toEqual([line, code, expect.any(String)])
    }
  })

  it('makes a vault', async () => {
    expect(await runProcess(['init', '--yes'], { folder: commandFolder() })).toMatchObject({ code: 0, stderr: '' })
  })

  it('is of any command', () => {
    const lines = Object.values(LINES).flatMap((of) => of({ id: '', token: '' }).map(([line]) => `${line} `))
    const missing = COMMANDS.map(({ name }) => name).filter((name) => !lines.some((line) => line.startsWith(`${name} `)))
    expect(missing.sort()).toEqual([...ENDLESS, 'init'].sort())
  })
})

it('the warm process finds what a line leaves open, and reads a configuration as it is now', async () => {
  const folder = commandFolder()
  const check = async (text: string) => {
    writeFileSync(join(folder, 'strongroom.config.ts'), text)
    return runCommand(['policy', 'check'], { folder })
  }
  const timer = 'globalThis.left = setInterval(() => {}, 1000); export default {}'
  await expect(check(timer)).rejects.toThrow('policy check leaves open: Timeout')
  const file = `import { openSync } from 'node:fs'; openSync('left', 'w'); export default {}`
  await expect(check(file)).rejects.toThrow(`policy check leaves open: ${join(folder, 'left')}`)
  expect(await check('clearInterval(globalThis.left); export default {}')).toMatchObject({ code: 3 })
  expect(await check(`console.log('printed'); throw new Error('secret')`)).toEqual({
    code: 3,
    stdout: 'printed\n',
    stderr: expect.stringContaining('its code throws Error.'),
  })
})
