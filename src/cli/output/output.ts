/** What a command prints: results on standard output, everything else on standard error. */
import { plainValue, type Row } from './cells.ts'
import { createProgressLine, type ProgressLine } from './progress-line.ts'
import { printTable } from './table.ts'
import type { TextStream } from './text-stream.ts'

/** Prints for one command. */
export interface Output {
  /** True if results are JSON: `--json`. */
  readonly isJson: boolean
  /** Prints the one result of a command: as JSON, or as the lines that `lines` makes of it. */
  result<Value>(value: Value, lines: (value: Value) => string | readonly string[]): void
  /** Prints records: one JSON line each, or a table. */
  rows(rows: Iterable<Row>, empty?: string): void
  /** Prints a piece of a long result as it is. Resolves when the stream can take more. */
  piece(piece: string | Uint8Array): Promise<void>
  /** Prints a sentence for a person, on standard error. */
  note(sentence: string): void
  /** Prints a sentence with `--verbose`. */
  detail(sentence: string): void
  /** Returns an `onProgress` that shows what was done, the rate and the time left, once a second, when work takes longer than that. */
  progress(noun: string): ProgressLine['update']
  /** Ends the line of the progress. */
  endProgress(): void
}

/** Makes the output of a command. */
export function createOutput({
  stdout,
  stderr,
  isJson,
  isVerbose,
}: {
  readonly stdout: TextStream
  readonly stderr: TextStream
  readonly isJson: boolean
  readonly isVerbose: boolean
}): Output {
  const progressLines: ProgressLine[] = []
  const endProgress = () => {
    for (const one of progressLines.splice(0)) one.end()
  }
  const say = (sentence: string) => {
    endProgress()
    stderr.write(`${sentence}\n`)
  }
  return {
    isJson,
    result(value, lines) {
      endProgress()
      const text = isJson ? JSON.stringify(value, plainValue) : [lines(value)].flat().join('\n')
      if (text !== '') stdout.write(`${text}\n`)
    },
    rows(rows, empty = 'none') {
      endProgress()
      if (isJson) {
        for (const row of rows) stdout.write(`${JSON.stringify(row, plainValue)}\n`)
        return
      }
      const list = [...rows]
      if (list.length === 0) say(empty)
      else stdout.write(printTable(list, { width: stdout.isTTY === true ? stdout.columns : undefined }))
    },
    piece: (piece) => writePiece(stdout, piece),
    note: say,
    detail: (sentence) => {
      if (isVerbose) say(sentence)
    },
    progress(noun) {
      const line = createProgressLine(stderr, noun)
      progressLines.push(line)
      return line.update
    },
    endProgress,
  }
}

/** Streams of Node call back when a piece was taken; others take it at once. */
async function writePiece(
  stream: TextStream & { write(piece: unknown, done?: (error?: Error | null) => void): unknown },
  piece: string | Uint8Array,
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    stream.write(piece, (error) => (error === null || error === undefined ? resolve() : reject(error)))
  })
}
