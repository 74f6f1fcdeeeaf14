/** The format of a file of records, as a line says it or as the name of the file does. */
import { extname } from 'node:path'
import type { CommandOptions } from '../command.ts'

/** How a file is written. */
interface RecordFormat {
  readonly format: 'csv' | 'ndjson'
  readonly delimiter?: string
}

const LINES: ReadonlySet<string> = new Set(['.ndjson', '.jsonl', '.json'])

/** Returns the format of a file; of standard input and output without a name. */
export function recordFormat(
  options: CommandOptions,
  file: string | undefined,
  otherwise: RecordFormat['format'] = 'csv',
): RecordFormat {
  const ending = extname(file ?? '').toLowerCase()
  const byName = ending === '' ? otherwise : LINES.has(ending) ? 'ndjson' : 'csv'
  const format = options.word('format', ['csv', 'ndjson']) ?? byName
  const delimiter = options.text('delimiter') ?? (ending === '.tsv' ? '\t' : undefined)
  return { format, ...(delimiter !== undefined && { delimiter }) }
}
