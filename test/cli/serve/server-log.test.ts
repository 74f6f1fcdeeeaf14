/** The log of the server holds no text of an error that it does not know. */
import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { errorFields } from '../../../src/cli/serve/server-log.ts'
import { VaultError } from '../../../src/index.ts'

const CARD = '4111111111111111'

it('says of an error of the library what it says, and of any other its kind and place', () => {
  expect(errorFields(new VaultError('unavailable', 'The storage is away.'))).toEqual({
    code: 'unavailable',
    reason: 'The storage is away.',
  })
  const fields = JSON.stringify(errorFields(Object.assign(new TypeError(`${CARD}\n    at ${CARD}`), { code: 'EIO' })))
  expect(fields).toContain('"kind":"TypeError","code":"EIO","at":["at ')
  expect(fields).toContain('server-log.test.ts')
  expect(JSON.stringify(errorFields(CARD))).toBe('{"kind":"string"}')
})

it('has no text of an error that nothing catches, with which the process ends', () => {
  const program = `
    import { createServerLog, endAtDefects } from './src/cli/serve/server-log.ts'
    endAtDefects(createServerLog('info'))
    setTimeout(() => { throw new Error('${CARD}') })`
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  expect([status, stdout]).toEqual([6, ''])
  expect(stderr).toContain('"level":"error"')
  expect(stderr).toContain('"msg":"a defect: the process ends"')
  expect(stderr).not.toContain(CARD)
})
