/** The machine and the commit of a run. Host names and paths are left out. */
import { execFileSync } from 'node:child_process'
import { availableParallelism, cpus, totalmem } from 'node:os'
import type { Machine } from '../report/result-shape.ts'

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() || 'unknown',
    cores: availableParallelism(),
    memoryGibibytes: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
  }
}

/** Returns the short commit id, with `+` after it if `src` has uncommitted changes. Returns `unknown` outside a checkout. */
export function describeCommit(): string {
  try {
    const commit = git('rev-parse', '--short', 'HEAD')
    return git('status', '--porcelain', '--', ':/src') === '' ? commit : `${commit}+`
  } catch {
    return 'unknown'
  }
}

function git(...words: string[]): string {
  return execFileSync('git', words, { cwd: import.meta.dirname, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}
