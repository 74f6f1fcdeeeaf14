/** The process of one task. Started by `run-task.ts`, which gets the entries as a message. */
import { createPeople } from '../fixtures/people.ts'
import { createEnvironments } from './environments.ts'
import type { TaskInput } from './run-task.ts'
import { findMeasurement } from './task.ts'

const SEED = 20_260_101

const { task, scale, postgresUrl } = JSON.parse(process.argv[2] ?? '') as TaskInput // Written by `run-task.ts`.
const measurement = findMeasurement(task)
if (measurement === undefined) throw new Error(`${task.benchmark} has nothing to measure on ${task.storage}.`)
// A run that is killed leaves no process behind.
process.once('disconnect', () => process.exit(1))
const environments = createEnvironments(postgresUrl)
try {
  const entries = await measurement({ scale, environments, people: createPeople(SEED) })
  await new Promise<void>((resolve) => process.send?.(entries, undefined, {}, () => resolve()))
} finally {
  await environments.close()
}
process.removeAllListeners('disconnect')
process.disconnect?.()
