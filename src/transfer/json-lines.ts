/** The records of NDJSON: an object a line. */
import type { SourceText } from './source-text.ts'

/** A line of NDJSON. */
export interface JsonLine {
  /** From 1. */
  readonly line: number
  /** Undefined with a problem. */
  readonly members?: Readonly<Record<string, unknown>>
  readonly problem?: string
}

/** Returns the next lines, at most `limit`; none at the end. Blank lines are left out. */
export async function readJsonLines(source: SourceText, limit: number): Promise<JsonLine[]> {
  const lines: JsonLine[] = []
  while (lines.length < limit) {
    const end = source.text.indexOf('\n', source.at)
    if (end < 0) {
      if (await source.more()) continue
      return lines
    }
    const text = source.text.slice(source.at, end)
    if (text.trim() !== '') lines.push(parseLine(source.line, text))
    source.at = end + 1
    source.line += 1
  }
  return lines
}

function parseLine(line: number, text: string): JsonLine {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // What the engine says quotes the text.
    return { line, problem: 'The line is not JSON.' }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { line, problem: 'The line is not a JSON object.' }
  // It is an object of JSON.
  return { line, members: value as Readonly<Record<string, unknown>> }
}
