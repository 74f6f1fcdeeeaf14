/** Runs the tests nearest to a change: `npm run test:near`, or `npm run test:near -- main` for all changes since a commit. Prints what it leaves to `npm test`. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { testsNear } from './near-tests.ts'

/** Test files that a run has at most, so that it takes less than a minute. */
const MAX_FILES = 24
/** What every change can break, in seconds. */
const ALWAYS = ['test/architecture.test.ts', 'test/vocabulary.test.ts', 'test/docs/paths.test.ts']
/** Folders whose tests take long, or start programs. */
const SLOW = /^test\/(docs|examples|inference|laws|package|properties|recipes)\//

/** Returns the files that differ from a commit; without one, from the last commit, or those of the last commit if none differ from it. */
function changedFiles(since: string | undefined): string[] {
  const open = [...git('diff', '--name-only', since ?? 'HEAD'), ...git('ls-files', '--others', '--exclude-standard')]
  return since === undefined && open.length === 0 ? git('diff', '--name-only', 'HEAD~1') : open
}

function git(...args: string[]): string[] {
  return execFileSync('git', args, { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line !== '')
}

function main(since: string | undefined): number {
  const tests = globSync('test/**/*.test.ts').map((path) => path.replaceAll('\\', '/'))
  const near = testsNear(changedFiles(since).filter(existsSync), tests, (path) => readFileSync(path, 'utf8'))
  const quick = near.filter((test) => !SLOW.test(test))
  const files = [...new Set([...ALWAYS, ...quick.slice(0, MAX_FILES)])]
  const left = near.filter((test) => !files.includes(test))
  const runner = join('node_modules', 'vitest', 'vitest.mjs')
  const { status } = spawnSync(process.execPath, [runner, 'run', ...files], { stdio: 'inherit' })
  if (left.length > 0) console.log(`left to npm test: ${left.join(', ')}`)
  return status ?? 1
}

process.exitCode = main(process.argv[2])
