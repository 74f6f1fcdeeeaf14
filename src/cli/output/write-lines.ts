/** Writes the lines of a long export to standard output or a new file. */
import { writeNewFile } from './new-file.ts'
import type { Output } from './output.ts'

/** Lines of a piece. */
const PIECE = 500

/** Writes lines, each with a line feed: to the file, which must not exist, or to standard output. */
export async function writeLines(output: Output, file: string | undefined, lines: AsyncIterable<string>): Promise<void> {
  const onProgress = output.progress('lines')
  let done = 0
  async function* pieces(): AsyncGenerator<string> {
    let piece: string[] = []
    for await (const line of lines) {
      piece.push(line)
      done++
      if (piece.length < PIECE) continue
      onProgress({ done })
      yield `${piece.join('\n')}\n`
      piece = []
    }
    if (piece.length > 0) yield `${piece.join('\n')}\n`
  }
  if (file === undefined) for await (const piece of pieces()) await output.piece(piece)
  else {
    await writeNewFile(file, pieces())
    output.result({ file, lines: done }, () => `Wrote ${done.toLocaleString('en-US')} lines to ${file}.`)
  }
}
