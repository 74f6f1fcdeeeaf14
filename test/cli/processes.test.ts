/** Every command in a process of its own, which ends when the command has: other tests run lines in a warm one. */
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { commandFolder, runCommand, runProcess } from '../support/cli/run-command.ts'
import { emptyVaultFolder, reconfigure, SECRETS, storePeople } from '../support/cli/vault-folder.ts'

/** They run until a signal ends them, in tests of their own. */
const ENDLESS = ['serve', 'audit follow']
const CHOICE = 'persons --column mail=email --column full_name=name --vault-table people'
const RULES = `{ subjects: { person: { table: 'people' } } }`

/** Lines in an order in which each finds what it needs, the exit code of those that refuse, and what others read from standard input. */
const linesOf = (id: string, token: string): readonly (readonly [line: string, code?: number, input?: string])[] => [
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
  ['credentials create --name shop --grant support'],
  ['credentials list'],
  ['credentials revoke unknown', 4],
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
]

it('every command ends its process with its exit code', async () => {
  const folder = emptyVaultFolder({ rules: RULES })
  const { id, tokens } = await storePeople(folder)
  const { privateKey } = generateKeyPairSync('ed25519')
  writeFileSync(join(folder, 'audit.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const host = new Database(join(folder, 'data/vault.db'))
  host.exec(`create table persons (id integer primary key, full_name text, mail text)`)
  host.exec(`insert into persons values (1, 'Cy', 'cy@x.example')`)
  host.close()
  const ran: string[] = []
  const run = async (line: string, code = 0, input = '', where = folder) => {
    const ended = await runProcess(line.split(' '), { folder: where, input })
    expect([line, ended.code, ended.stderr]).toEqual([line, code, expect.any(String)])
    ran.push(...COMMANDS.map(({ name }) => name).filter((name) => line === name || line.startsWith(`${name} `)))
  }
  await run('init --yes', 0, '', commandFolder())
  for (const [line, code, input] of linesOf(id, tokens.email ?? '')) await run(line, code, input)
  reconfigure(folder, { rules: RULES, storage: `{ sqlite: { filename: 'restored.db' } }` })
  await run('restore vault.backup')
  expect([...ran, ...ENDLESS].sort()).toEqual(COMMANDS.map(({ name }) => name).sort())
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
