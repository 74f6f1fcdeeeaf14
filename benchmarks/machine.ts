/** What a reader must know of the machine and the code to judge figures: never a host's name or a path. */
import { execFileSync } from 'node:child_process'
import { availableParallelism, cpus, totalmem } from 'node:os'
import type { Machine } from './entries.ts'

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() || 'unknown',
    cores: availableParallelism(),
    memoryGibibytes: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
  }
}

/** The commit the sources stand at, `+` behind it where they were changed since; `unknown` outside a checkout. */
export function describeCommit(): string {
  try {
    const commit = git('rev-parse', '--short', 'HEAD')
    return git('status', '--porcelain', '--', 'src') === '' ? commit : `${commit}+`
  } catch {
    return 'unknown'
  }
}

function git(...words: string[]): string {
  return execFileSync('git', words, { cwd: import.meta.dirname, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}
