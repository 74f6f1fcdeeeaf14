/** Which tests `npm run test:near` takes. */
import { expect, it } from 'vitest'
import { testsNear } from '../scripts/near-tests.ts'

const TESTS: Readonly<Record<string, string>> = {
  'test/core/util/lists.test.ts': `from '../../../src/core/util/lists.ts'`,
  'test/core/util/bytes.test.ts': '',
  'test/core/audit/chain.test.ts': `from '../../../src/core/util/lists.ts'`,
  'test/http/router.test.ts': `from '../support/http/serve-vault.ts'`,
  'test/laws.test.ts': '',
}

function near(...changed: string[]): string[] {
  return testsNear(changed, Object.keys(TESTS), (path) => TESTS[path] ?? '')
}

it('takes a changed test, and of a changed file the test of its path, those that import it, and those beside it, in this order', () => {
  expect(near('test/laws.test.ts')).toEqual(['test/laws.test.ts'])
  expect(near('src/core/util/lists.ts')).toEqual([
    'test/core/util/lists.test.ts',
    'test/core/audit/chain.test.ts',
    'test/core/util/bytes.test.ts',
  ])
  expect(near('test/support/http/serve-vault.ts', 'docs/files.md')).toEqual(['test/http/router.test.ts'])
})
