/** Codes of errors of the runtime, also of those that are made in another realm, as Jest has one for tests. */
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { missingPackageError } from '../../../src/adapters/packages/require-package.ts'
import { errorCode, errorText } from '../../../src/core/util/causes.ts'

it('an error of another realm has its code', () => {
  const foreign: unknown = runInNewContext("Object.assign(new Error('no such file'), { code: 'ENOENT' })")
  expect(foreign instanceof Error).toBe(false)
  expect(errorCode(foreign)).toBe('ENOENT')
  expect(errorText(foreign)).toBe('no such file')
  expect(errorCode(Object.assign(new Error('full'), { code: 'ENOSPC' }))).toBe('ENOSPC')
})

it.each([undefined, null, 'ENOENT', new Error('none'), { code: 5 }, { code: 'a TEST_SECRET' }])('%o has none', (thrown) => {
  expect(errorCode(thrown)).toBeUndefined()
})

it('a package that is not found in another realm is reported as not installed', () => {
  const code = "Object.assign(new Error(\"Cannot find module 'pg'\"), { code: 'MODULE_NOT_FOUND' })"
  const error = missingPackageError({ user: 'postgresStorage', name: 'pg' }, runInNewContext(code))
  expect(error.message).toBe('postgresStorage needs the package pg, which is not installed. Run: npm install pg.')
})
