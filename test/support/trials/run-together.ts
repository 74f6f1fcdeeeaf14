/** Runs processes that begin their work together, however long each takes to start: a short time of work is enough for all to meet. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { builtProcess } from '../cli/built-command.ts'
import { READY } from './begin-together.ts'

/** Starts a process of the script for each of the options, and returns what they print. Each calls `beginTogether` once. */
export async function runTogether(script: string, options: readonly object[]): Promise<string[]> {
  const children = options.map((each) => {
    const child = spawn(process.execPath, [builtProcess(script), JSON.stringify(each)], { stdio: ['pipe', 'pipe', 'inherit'] })
    let text = ''
    let isReady = false
    const ready = new Promise<void>((resolve) => {
      child.stdout.setEncoding('utf8').on('data', (part: string) => {
        text += part
        if (isReady || !text.startsWith(READY)) return
        isReady = true
        resolve()
      })
    })
    const closed = once(child, 'close').then(([code]) => {
      if (code !== 0) throw new Error(`a process ended with ${code}`)
      return text.slice(READY.length)
    })
    return { child, ready: Promise.race([ready, closed]), closed }
  })
  try {
    await Promise.all(children.map(({ ready }) => ready))
    for (const { child } of children) child.stdin.end('go')
    return await Promise.all(children.map(({ closed }) => closed))
  } finally {
    for (const { child } of children) if (child.exitCode === null) child.kill('SIGKILL')
  }
}
