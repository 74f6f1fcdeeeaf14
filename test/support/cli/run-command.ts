/** Runs the command `strongroom`, bundled from its sources, in a folder of its own: in a process that is warm, or in one of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { builtCommand } from './built-command.ts'
import { runHosted } from './warm-command.ts'

const TOP = fileURLToPath(new URL('../../../', import.meta.url))

/** Lines of progress, which work prints that takes longer than a second: on a slow machine. */
const PROGRESS = /^[\d,]+ (of [\d,]+ )?\w+, [\d,]+\/s(, [\d.]+ \w+ left)?\n/gm

/** What a run printed, but for its progress, and its exit code; null if a signal ended it. */
export interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Where a command runs, and what it is given. */
export interface RunOptions {
  readonly folder: string
  readonly env?: Readonly<Record<string, string>>
  /** What standard input has. Default: nothing. */
  readonly input?: string
}

/** A command that is running. */
export interface RunningCommand {
  readonly child: ChildProcess
  /** What it printed so far. */
  readonly printed: { stdout: string; stderr: string }
  /** Resolves when it has ended. */
  readonly ended: Promise<CommandResult>
  /** Resolves when standard output or standard error contains the text. Rejects if it ends before. */
  waitFor(text: string): Promise<void>
}

/** Makes a folder where the package is installed. It is removed when the test has finished. */
export function commandFolder(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(TOP, join(folder, 'node_modules/strongroom'), 'junction')
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

/** Starts the command as a process of its own. It is killed when the test has finished. */
export function startCommand(args: readonly string[], { folder, env, input }: RunOptions): RunningCommand {
  const child = spawn(process.execPath, [...builtCommand(), ...args], {
    cwd: folder,
    env: environmentOf(env),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const printed = { stdout: '', stderr: '' }
  const watchers = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text
      for (const watch of watchers) watch()
    })
  }
  // A command that ends before it has read all is no failure of the test.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const ended = new Promise<CommandResult>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(resultOf(code, printed)))
  })
  return {
    child,
    printed,
    ended,
    waitFor: (text) =>
      new Promise((resolve, reject) => {
        const watch = () => {
          if (!printed.stdout.includes(text) && !printed.stderr.includes(text)) return
          watchers.delete(watch)
          resolve()
        }
        watchers.add(watch)
        watch()
        ended.then(
          ({ code }) => reject(new Error(`The command ended with ${code} before it printed ${text}:\n${printed.stderr}`)),
          reject,
        )
      }),
  }
}

/** Runs the command to its end as a process of its own, as one that serves needs it. */
export function runProcess(args: readonly string[], options: RunOptions): Promise<CommandResult> {
  return startCommand(args, options).ended
}

/** Runs the command to its end in the warm process of this one, at a tenth of the CPU. Rejects if it leaves anything open. */
export async function runCommand(args: readonly string[], { folder, env, input = '' }: RunOptions): Promise<CommandResult> {
  const { code, ...printed } = await runHosted({ args, folder, env: environmentOf(env), input })
  return resultOf(code, printed)
}

const environmentOf = (env: RunOptions['env']) => ({ ...process.env, NO_COLOR: '1', ...env })

function resultOf(code: number | null, { stdout, stderr }: { readonly stdout: string; readonly stderr: string }): CommandResult {
  return { code, stdout, stderr: stderr.replace(PROGRESS, '') }
}

/** Returns what a command printed as JSON, one value a line. */
export const rowsOf = (stdout: string) => stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
