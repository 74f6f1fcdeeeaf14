/** Files of the trail: checkpoints, and lines of exports. */
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import process from 'node:process'
import { readCheckpoint } from '../../audit-verifier/index.ts'
import { isVaultError } from '../../public-errors.ts'
import { CommandFailure, EXIT } from '../failure.ts'

/** Longest line that is read, in characters: an event of a batch of thousands of items is shorter. */
const MAX_LINE = 64 * 1024 * 1024

/** Reads checkpoints of files. Throws `CommandFailure` for another file. */
export function readCheckpoints(files: readonly string[]) {
  return Promise.all(
    files.map(async (file) => {
      const text = await readFile(file, 'utf8')
      try {
        return readCheckpoint(text)
      } catch (error) {
        if (!isVaultError(error)) throw error
        throw new CommandFailure(EXIT.config, `${file} is not a checkpoint. Name the file that \`audit checkpoint\` wrote.`)
      }
    }),
  )
}

/** Yields the lines of files, one file after the other; `-` is standard input. */
export async function* linesOf(files: readonly string[]): AsyncGenerator<string> {
  for (const file of files) {
    const stream = file === '-' ? process.stdin.setEncoding('utf8') : createReadStream(file, { encoding: 'utf8' })
    let rest = ''
    // Not by node:readline, which also ends lines at U+2028, which JSON may contain.
    for await (const piece of stream) {
      const lines = `${rest}${piece}`.split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > MAX_LINE) throw new CommandFailure(EXIT.found, `${file} has a line that is longer than an event.`)
      yield* lines
    }
    if (rest !== '') yield rest
  }
}
