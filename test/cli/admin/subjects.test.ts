/** subject find, export, forget and forgotten: a person is forgotten, and again after a restore. */
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { rowsOf, runCommand } from '../../support/cli/run-command.ts'
import { emptyVaultFolder, SECRETS, storePeople } from '../../support/cli/vault-folder.ts'

const ANY_ID = '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11'

it('finds, exports and forgets a subject, and forgets it again in the database of before', async () => {
  const folder = emptyVaultFolder({ rules: `{ subjects: { person: { table: 'people' } } }` })
  const { id } = await storePeople(folder)
  const run = (line: string, ...more: string[]) => runCommand(['subject', ...line.split(' '), ...more], { folder })
  expect((await run('find person', ANY_ID)).code).toBe(4)
  expect((await runCommand(['schema', 'apply'], { folder })).code).toBe(0)
  expect(rowsOf((await run(`find person ${id} --json`)).stdout)).toEqual([{ table: 'people', records: 1 }])
  const lines = (await run(`export person ${id} --events`)).stdout.trim().split('\n')
  expect([...new Set(lines.map((line) => JSON.parse(line).type))]).toEqual(['export', 'table', 'record', 'event', 'manifest'])
  expect(lines[2]).toContain(SECRETS.ssn)
  expect((await run(`forget person ${id} --yes`)).stderr).toContain('Specify --reason.')
  expect((await run(`forget person ${id} --reason x --role support --yes`)).code).toBe(4)
  copyFileSync(join(folder, 'data/vault.db'), join(folder, 'data/before.db'))
  const receipt = JSON.parse((await run(`forget person ${id} --yes --reason`, 'request 7')).stdout)
  expect(receipt).toMatchObject({ kind: 'person', reason: 'request 7', tables: { people: 1 } })
  const list = join(folder, 'forgotten.ndjson')
  expect((await run(`forgotten --out ${list}`)).code).toBe(0)
  expect(rowsOf(readFileSync(list, 'utf8'))).toEqual([{ kind: 'person', id, receipt }])
  expect((await run(`find person ${id}`)).code).toBe(4)

  copyFileSync(join(folder, 'data/before.db'), join(folder, 'data/vault.db'))
  expect((await run(`find person ${id}`)).code).toBe(0)
  const again = await run(`forget --from ${list} --yes`)
  expect(rowsOf(again.stdout)).toMatchObject([{ tables: { people: 1 }, reason: 'forgotten again after a restore' }])
  expect((await run(`find person ${id}`)).code).toBe(4)
})
