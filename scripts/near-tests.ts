/** Which tests are nearest to a change. */
import { basename, dirname } from 'node:path'

/** Returns the test files nearest to the changed files, nearest first: themselves, those of the same path, those that import them, those of their folder. */
export function testsNear(changed: readonly string[], tests: readonly string[], read: (path: string) => string): string[] {
  const own = changed.filter((path) => tests.includes(path))
  const sources = changed.filter((path) => /^(src|benchmarks|scripts|test\/support)\//.test(path) && path.endsWith('.ts'))
  const mirrored = sources.flatMap((path) => tests.filter((test) => test === mirrorOf(path)))
  const names = sources.map((path) => `/${basename(dirname(path))}/${basename(path)}'`)
  const importing = tests.filter((test) => names.some((name) => read(test).includes(name)))
  const beside = sources.flatMap((path) => tests.filter((test) => dirname(test) === dirname(mirrorOf(path))))
  return [...new Set([...own, ...mirrored, ...importing, ...beside])]
}

function mirrorOf(path: string): string {
  return path.replace(/^(src\/)?/, 'test/').replace(/\.ts$/, '.test.ts')
}
