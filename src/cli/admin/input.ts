/** What a command reads from standard input, and asks a person. */
import process from 'node:process'
import { CommandFailure, EXIT } from '../failure.ts'

/** Text that a command reads at once, in bytes: far more than a person or a script passes it. */
const MAX_BYTES = 16 * 1024 * 1024

/** Returns the text of standard input. Throws a usage failure where a terminal is there in place of input. */
export async function readInput(signal: AbortSignal): Promise<string> {
  const { stdin } = process
  if (stdin.isTTY === true)
    throw new CommandFailure(EXIT.usage, 'Standard input is a terminal. Pass a file or the output of another program to it.')
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of stdin) {
    signal.throwIfAborted()
    bytes += piece.length
    if (bytes > MAX_BYTES) throw new CommandFailure(EXIT.usage, 'Standard input has more than 16 MiB. Pass it in parts.')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** Returns the lines of standard input that are not empty. */
export async function readLines(signal: AbortSignal): Promise<readonly string[]> {
  const lines = (await readInput(signal)).split(/\r?\n/).filter((line) => line !== '')
  if (lines.length > 0) return lines
  throw new CommandFailure(EXIT.usage, 'Standard input is empty. Pass one value a line.')
}

/** Asks before something that is for ever. Throws unless the answer is yes, or `isSure`. */
export async function assertSure(question: string, isSure: boolean): Promise<void> {
  if (isSure) return
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true)
    throw new CommandFailure(EXIT.usage, `${question} There is no terminal to ask on. Specify --yes.`)
  // Loaded here: it is large, and few lines ask.
  const { confirm, isCancel } = await import('@clack/prompts')
  const answer = await confirm({ message: question, initialValue: false, output: process.stderr })
  if (isCancel(answer) || !answer) throw new CommandFailure(EXIT.interrupted, 'Nothing was changed.')
}
