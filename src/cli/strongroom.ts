/** The command `strongroom`: runs the line of its arguments, and ends the process with its exit code. */
import process from 'node:process'
import { EXIT } from './failure.ts'
import { runLine } from './run-line.ts'

// A reader that ends, such as `head`, is no defect; without a listener Node prints a stack.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit(EXIT.unavailable))

process.exitCode = await runLine(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  environment: process.env,
  // Signals end a command by its AbortSignal: what it has open is closed, and a second one ends the process at once.
  onInterrupt(interrupt) {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, interrupt)
  },
})
