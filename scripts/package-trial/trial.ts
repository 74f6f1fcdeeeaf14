/** One trial of the packed package: runs commands in folders of its own, and collects what fails. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The repository, and its installed packages. */
export const TOP = fileURLToPath(new URL('../..', import.meta.url))
export const MODULES = join(TOP, 'node_modules')
/** The name of the package. */
export const NAME = 'strongroom'

/** What programs that report to their makers read. */
const QUIET = { NEXT_TELEMETRY_DISABLED: '1', DENO_NO_UPDATE_CHECK: '1' }

/** A command of a check, and the folder it runs in. */
export interface Command {
  readonly command: string
  readonly args: readonly string[]
  readonly folder: string
  /** Variables of the environment, besides those of this process. */
  readonly env?: Readonly<Record<string, string>>
}

/** A trial that is in progress. */
export interface Trial {
  /** A folder that is removed at the end. */
  readonly home: string
  /** Records a failure. The other checks still run. */
  readonly fail: (sentence: string) => void
  /** Runs one check, and records its output if it fails. Returns whether it passed. */
  readonly run: (what: string, command: Command) => boolean
  /** Removes the folder, prints the failures, and sets the exit code. */
  readonly end: () => void
}

/** Starts a trial in an empty folder. */
export function startTrial(): Trial {
  const home = mkdtempSync(join(tmpdir(), 'package-trial-'))
  const failures: string[] = []
  return {
    home,
    fail: (sentence) => failures.push(sentence),
    run(what, { command, args, folder, env }) {
      const began = performance.now()
      const { status, stdout, stderr, error } = spawnSync(command, args, {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, ...QUIET, ...env },
      })
      const seconds = ((performance.now() - began) / 1000).toFixed(1)
      console.log(`${status === 0 ? 'ok  ' : 'FAIL'} ${what} (${seconds} s)`)
      if (status !== 0) failures.push(`failed: ${what}\n${shorten(`${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`)}`)
      return status === 0
    },
    end() {
      rmSync(home, { recursive: true })
      for (const failure of failures) console.error(`- ${failure}`)
      console.log(failures.length === 0 ? 'package in order' : `${failures.length} checks of the package failed`)
      process.exitCode = failures.length === 0 ? 0 : 1
    },
  }
}

/** Returns the end of an output. A bundle quotes itself in a stack, on one line. */
function shorten(output: string): string {
  const lines = output.split('\n').map((line) => (line.length > 300 ? `${line.slice(0, 300)}...` : line))
  return lines.slice(-60).join('\n')
}
