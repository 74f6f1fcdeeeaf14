/** The command `strongroom`: finds the command of the arguments, runs it, and ends the process with its exit code. */
import process from 'node:process'
import { COMMANDS } from './commands.ts'
import { EXIT, exitCodeOf, framesOf, sentenceOf } from './failure.ts'
import { createProgram } from './program.ts'

// A reader that ends, such as `head`, is no defect; without a listener Node prints a stack.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit(EXIT.unavailable))

const program = createProgram(COMMANDS, {
  stdout: process.stdout,
  stderr: process.stderr,
  environment: process.env,
  // Signals end a command by its AbortSignal: what it has open is closed, and a second one ends the process at once.
  onInterrupt(interrupt) {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, interrupt)
  },
})

try {
  process.exitCode = await program.run(process.argv.slice(2))
} catch (error) {
  // Node prints the line of the throw, which in a built file is the whole file.
  process.stderr.write(`strongroom: ${sentenceOf(error)}\n`)
  if (process.argv.includes('--verbose')) for (const frame of framesOf(error)) process.stderr.write(`    ${frame}\n`)
  process.exitCode = exitCodeOf(error)
}
