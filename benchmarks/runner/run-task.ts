/** Runs one task in a process of its own: what it measures meets only the code and the heap of one benchmark on one storage. */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { type Entry, resultShape } from '../report/result-shape.ts'
import type { Scale } from './run-config.ts'
import type { Task } from './task.ts'

/** What the process of a task is given. It survives JSON. */
export interface TaskInput {
  readonly task: Task
  readonly scale: Scale
  /** Address of a PostgreSQL server. Absent if the storage is another. */
  readonly postgresUrl?: string
}

/** Returns the entries of the task. Throws an `Error` if its process fails; what failed is on the error output. */
export async function runTask(input: TaskInput): Promise<Entry[]> {
  const { benchmark, storage } = input.task
  const child = fork(join(import.meta.dirname, 'task-process.ts'), [JSON.stringify(input)], { stdio: 'inherit', execArgv: [] })
  let sent: unknown
  child.once('message', (message) => {
    sent = message
  })
  const ending = await new Promise<string>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(signal ?? `code ${code}`))
  })
  if (ending !== 'code 0') throw new Error(`The process of ${benchmark} on ${storage} ended with ${ending}.`)
  return resultShape.shape.entries.parse(sent)
}
