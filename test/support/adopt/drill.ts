/** Starts writers of the application, and processes that adopt and are killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { builtProcess } from '../cli/built-command.ts'
import type { StorageAddress } from '../storages/open-storage.ts'
import type { AdoptProcessOptions } from './adopt-process.ts'
import type { WriterOptions, WriterReport } from './writer-process.ts'

/** What a process that adopts has printed. */
export interface AdoptOutcome {
  /** Undefined for one that was killed. */
  readonly code: number | undefined
  readonly states: readonly { readonly state: string; readonly at: number; readonly [more: string]: unknown }[]
}

/** Runs a process that adopts. With `killAfterMs` it is killed then, if it still runs. */
export async function runAdopt(options: AdoptProcessOptions, killAfterMs?: number): Promise<AdoptOutcome> {
  const child = start('adopt-process.ts', options)
  const timer = killAfterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  const [text, code] = await Promise.all([outputOf(child), endOf(child)])
  clearTimeout(timer)
  const states = text.split('\n').filter((line) => line.endsWith('}'))
  return { code: code ?? undefined, states: states.map((line) => JSON.parse(line) as AdoptOutcome['states'][number]) }
}

export interface Writers {
  /** Ends those that still run, and returns what each saw. */
  stop(): Promise<WriterReport[]>
}

export function startWriters(
  address: StorageAddress,
  count: number,
  options: Omit<WriterOptions, 'address' | 'number'>,
): Writers {
  const children = Array.from({ length: count }, (_, index) => {
    const child = start('writer-process.ts', { ...options, address, number: index + 1 })
    return { child, output: outputOf(child), end: endOf(child) }
  })
  return {
    stop: () =>
      Promise.all(
        children.map(async ({ child, output, end }) => {
          if (child.exitCode === null) child.kill('SIGTERM')
          const code = await end
          if (code !== 0) throw new Error(`a writer ended with ${code}`)
          return JSON.parse(await output) as WriterReport
        }),
      ),
  }
}

function start(script: string, options: object): ChildProcess {
  return spawn(process.execPath, [builtProcess(join(import.meta.dirname, script)), JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

async function outputOf({ stdout }: ChildProcess): Promise<string> {
  let text = ''
  if (stdout !== null) for await (const part of stdout) text += String(part)
  return text
}

async function endOf(child: ChildProcess): Promise<number | null> {
  const [code] = (await once(child, 'close')) as [number | null]
  return code
}
