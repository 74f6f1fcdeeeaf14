/** schema plan and apply with what a schema cannot say by itself: new names, what is erased, converters. */
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../support/cli/run-command.ts'
import { emptyVaultFolder, reconfigure, SECRETS, storePeople } from '../../support/cli/vault-folder.ts'

const NEXT = `full_name: column.string({ redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
  email: column.string({ unique: true, redaction: 'MASKED', mask: mask.email, token: 'random' }),
  country: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' })`
const MOVES = ['--rename', 'people.name=full_name', '--erase', 'people.ssn']

describe('moves of a schema', () => {
  it('renames and erases as its options say', async () => {
    const folder = emptyVaultFolder()
    await storePeople(folder)
    reconfigure(folder, { columns: NEXT })
    const planned = JSON.parse((await runCommand(['schema', 'plan', '--json', ...MOVES], { folder })).stdout)
    expect(planned).toMatchObject({ leftOut: [], waitsMs: 30_000 })
    expect(planned.refusals).toEqual([])
    const { code, stderr } = await runCommand(['schema', 'apply', '--wait', '0', ...MOVES], { folder })
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('schema plan')])
    const owner = ['get', 'people', '--json', '--limit', '1', '--redaction', 'PLAIN_TEXT']
    const record = JSON.parse((await runCommand(owner, { folder })).stdout.split('\n')[0] ?? '')
    expect(record).toMatchObject({ full_name: SECRETS.name })
    expect(record).not.toHaveProperty('ssn')
  })

  it('refuses a new name that the schema does not have, and a form that it does not know', async () => {
    const folder = emptyVaultFolder()
    await storePeople(folder)
    reconfigure(folder, { columns: NEXT })
    const wrong = await runCommand(['schema', 'plan', '--rename', 'people.name=ful_name'], { folder })
    expect(wrong.code).toBe(4)
    expect(wrong.stderr).toContain('The moves rename people.name to "ful_name", which the schema does not have.')
    const table = await runCommand(['schema', 'plan', '--rename', 'people=persons'], { folder })
    expect([table.code, table.stderr]).toEqual([4, expect.stringContaining('which the schema does not have')])
    for (const option of ['--rename', '--convert']) {
      const { code, stderr } = await runCommand(['schema', 'plan', option, 'people.name'], { folder })
      expect([code, stderr]).toEqual([2, expect.stringContaining(`${option} must be table`)])
    }
    const other = await runCommand(['schema', 'plan', '--convert', 'people.name=toNumber'], { folder })
    expect(other.stderr).toContain('A converter must be one of')
  })

  it('shows what is left out with its columns in the order of the steps', async () => {
    const folder = emptyVaultFolder()
    await storePeople(folder)
    reconfigure(folder, { columns: NEXT.replace('full_name', 'name') })
    const { stdout, stderr } = await runCommand(['schema', 'plan'], { folder })
    expect(stderr).not.toContain('schema plan')
    expect(stdout).toMatch(/^step +table +column +what +rows +takes/)
    expect(stdout).toMatch(/^left out +people +ssn +stays stored/m)
  })
})
