/** Parses the value of a header that has parameters: Content-Type and Content-Disposition. */

/** Such a value. */
export interface ParameterizedValue {
  /** What comes before the parameters, in lower case. */
  readonly value: string
  /** By name in lower case. */
  readonly parameters: ReadonlyMap<string, string>
}

/**
 * A parameter with the semicolon behind it, or none between two semicolons. What follows a closing quote is ignored up to the next semicolon:
 * some clients do not escape quotes. A quote behind a backslash closes if no other one can: some send the path of a folder of Windows. No two parts
 * can match the same characters, so that a header of any length is read in one pass.
 */
const PARAMETER = /(?:([^\s=;"]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\[\s\S])*|[^"]*\\)"[^;]*|([^ \t";][^";]*)?))?(?:;[ \t]*|$)/y

/** Returns the value and its parameters. Returns undefined if a parameter is malformed or comes twice. */
export function parseParameters(header: string): ParameterizedValue | undefined {
  const start = header.indexOf(';')
  const value = (start < 0 ? header : header.slice(0, start)).trim().toLowerCase()
  const parameters = new Map<string, string>()
  const text = start < 0 ? '' : header.slice(start + 1).trimStart()
  for (let position = 0; position < text.length; position = PARAMETER.lastIndex) {
    PARAMETER.lastIndex = position
    const match = PARAMETER.exec(text)
    if (match === null) return undefined
    const [, written, quoted, plain] = match
    if (written === undefined) continue // Two semicolons, or one at the end.
    const name = written.toLowerCase()
    if (parameters.has(name)) return undefined
    // A backslash escapes only a quote and itself: some clients send paths of Windows as they are.
    parameters.set(name, quoted?.replace(/\\(["\\])/g, '$1') ?? plain?.trim() ?? '')
  }
  return { value, parameters }
}
