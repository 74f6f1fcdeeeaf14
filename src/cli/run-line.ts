/** Runs a line of the command to its exit code: a failure is one sentence on standard error. */
import { COMMANDS } from './commands.ts'
import { type ExitCode, exitCodeOf, framesOf, sentenceOf } from './failure.ts'
import { createProgram, type ProgramPorts } from './program.ts'

/** Runs the arguments of a line. `--verbose` also prints where it failed. */
export async function runLine(line: readonly string[], ports: ProgramPorts): Promise<ExitCode> {
  try {
    return await createProgram(COMMANDS, ports).run(line)
  } catch (error) {
    ports.stderr.write(`strongroom: ${sentenceOf(error)}\n`)
    if (line.includes('--verbose')) for (const frame of framesOf(error)) ports.stderr.write(`    ${frame}\n`)
    return exitCodeOf(error)
  }
}
