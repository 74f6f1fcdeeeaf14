/** The warm process of this one, which has the command loaded: a line in it takes a tenth of the CPU that a process of its own takes. */
import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { builtHost } from './built-command.ts'
import type { HostedEnd, HostedLine } from './command-host.ts'

/** What a line printed, and its exit code; null if a signal ended the process. */
export interface HostedResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const STREAMS = ['stdout', 'stderr'] as const

let host: ChildProcess | undefined
let last: Promise<unknown> = Promise.resolve()

/** Runs a line when those before it have ended. */
export function runHosted(line: Omit<HostedLine, 'mark'>): Promise<HostedResult> {
  const run = last.then(() => runNow(line))
  last = run.catch(() => {})
  return run
}

function runNow(line: Omit<HostedLine, 'mark'>): Promise<HostedResult> {
  host ??= startHost()
  const child = host
  const mark = `\0${randomUUID()}\0`
  const printed = { stdout: '', stderr: '' }
  let end: HostedEnd | undefined
  onTestFinished(() => {
    if (end === undefined) child.kill('SIGKILL')
  })
  return new Promise((resolve, reject) => {
    const collectors = STREAMS.map((name) => (text: string) => {
      printed[name] += text
      endIfWhole()
    })
    const takeEnd = (message: HostedEnd) => {
      end = message
      endIfWhole()
    }
    const takeClose = (code: number | null) => {
      if (host === child) host = undefined
      leave()
      resolve({ code, ...printed })
    }
    const leave = () => {
      child.off('message', takeEnd).off('close', takeClose)
      for (const [index, name] of STREAMS.entries()) child[name]?.removeListener('data', collectors[index] ?? leave)
    }
    // The three come in any order.
    const endIfWhole = () => {
      if (end === undefined || STREAMS.some((name) => !printed[name].endsWith(mark))) return
      leave()
      const [stdout, stderr] = STREAMS.map((name) => printed[name].slice(0, -mark.length))
      if (end.open.length > 0) reject(new Error(`${line.args.join(' ')} leaves open: ${end.open.join(', ')}`))
      else resolve({ code: end.code, stdout: stdout ?? '', stderr: stderr ?? '' })
    }
    child.on('message', takeEnd).once('close', takeClose)
    for (const [index, name] of STREAMS.entries()) child[name]?.on('data', collectors[index] ?? leave)
    child.send({ ...line, mark })
  })
}

/** It ends with this process. */
function startHost(): ChildProcess {
  const { file, execArgv } = builtHost()
  const child = fork(file, { execArgv: [...execArgv], stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  child.unref()
  child.channel?.unref()
  for (const name of STREAMS) (child[name]?.setEncoding('utf8') as Socket | undefined)?.unref()
  return child
}
