/** The commands of adopting, from plan to back, on a file. */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import { commandFolder, runCommand } from '../support/cli/run-command.ts'

it('plans, runs, switches, finishes and goes back, and ends with 1 while rows are refused', async () => {
  const folder = commandFolder()
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand([...args, '--json'], { folder })
    return { code, stderr, result: stdout === '' ? undefined : JSON.parse(stdout) }
  }
  expect((await runCommand(['init', '--yes'], { folder })).code).toBe(0)
  const database = new Database(join(folder, 'vault.db'))
  database.exec(
    `create table people (id integer primary key, full_name text, mail text); insert into people values (1, 'Ann', 'ann@x.example'), (2, 'Bo', ' Ann@X.example')`,
  )
  const choice = ['people', '--column', 'mail=email', '--column', 'full_name=name', '--vault-table', 'customers']
  const plan = await run('adopt', 'plan', ...choice)
  expect(plan).toMatchObject({ code: 1, result: { rows: 2, ok: false } })
  expect(JSON.stringify(plan)).not.toContain('nn@')
  expect(await run('adopt', 'run', ...choice)).toMatchObject({ code: 1, result: { state: 'overlap', refusedCount: 1 } })
  expect(await run('adopt', 'switch', ...choice)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('1 rows that the vault refuses'),
  })
  database.exec(`update people set mail = 'bo@x.example' where id = 2`)
  expect(await run('adopt', 'run', ...choice)).toMatchObject({ code: 0 })
  expect(await run('adopt', 'switch', ...choice)).toMatchObject({ code: 0 })
  expect(await run('adopt', 'finish', ...choice, '--drop-columns')).toMatchObject({ code: 2 })
  expect(await run('adopt', 'finish', ...choice, '--clean')).toMatchObject({ code: 0 })
  expect(database.prepare('select mail from people').pluck().all()).toEqual([null, null])
  expect(await run('adopt', 'back', ...choice)).toMatchObject({ code: 0, result: { state: 'new' } })
  expect(database.prepare('select mail from people').pluck().all()).toEqual(['ann@x.example', 'bo@x.example'])
  database.close()
})
