/** How a process that `runTogether` started waits for the others. */
import { once } from 'node:events'

/** What a process prints first, once it can begin. */
export const READY = 'ready\n'

/** Returns when every process can begin. */
export async function beginTogether(): Promise<void> {
  process.stdout.write(READY)
  await once(process.stdin, 'data')
  process.stdin.destroy()
}
