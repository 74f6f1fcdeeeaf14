/** hold place, list and lift: who places a hold, and why, is what the line says. */
import { userInfo } from 'node:os'
import { expect, it } from 'vitest'
import { rowsOf, runCommand } from '../../support/cli/run-command.ts'
import { emptyVaultFolder, storePeople } from '../../support/cli/vault-folder.ts'

it('places, lists and lifts a hold as the caller of the line, for its purpose', async () => {
  const folder = emptyVaultFolder()
  const { id } = await storePeople(folder)
  const run = (line: string, ...more: string[]) => runCommand([...line.split(' '), ...more], { folder })
  expect((await run(`hold place people ${id}`)).stderr).toContain('Specify --reason.')
  const hold = (await run(`hold place people ${id} --purpose matter-7 --reason`, 'case 7')).stdout.trim()
  const by = `cli:${userInfo().username}`
  expect(rowsOf((await run('hold list --json')).stdout)).toMatchObject([{ id: hold, of: '1 in people', by, reason: 'case 7' }])
  expect((await run(`hold lift ${hold}`)).stderr).toContain('Specify --yes.')
  expect((await run(`hold lift ${hold} --yes --purpose matter-7`)).code).toBe(0)
  expect((await run('hold list')).stderr).toContain('There are no legal holds.')
  expect(rowsOf((await run('audit list --for matter-7 --json')).stdout)).toMatchObject([
    { context: { actor: by, purpose: 'matter-7' }, request: { actionType: 'LIFT_HOLD' } },
    { context: { actor: by, purpose: 'matter-7' }, request: { actionType: 'PLACE_HOLD' } },
  ])
})
