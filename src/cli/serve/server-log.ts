/** The log of the server: lines of JSON on standard error, with codes, counts and times, and never a value, a path or a credential. */
import process from 'node:process'
import { type DestinationStream, destination, pino } from 'pino'
import { isVaultError, type Log } from '../../index.ts'
import type { ServerSettings } from '../config/server-shape.ts'
import { codeOf, EXIT, framesOf } from '../failure.ts'

const STDERR = 2

/** Returns a log. A line is written before the call returns, so that none is lost when the process ends. */
export function createServerLog(
  level: ServerSettings['log']['level'],
  to: DestinationStream = destination({ fd: STDERR, sync: true }),
): Log {
  const timestamp = () => `,"time":"${new Date().toISOString()}"`
  // Levels are words, as in the lines of `audit follow`.
  return pino({ level, base: { pid: process.pid }, timestamp, formatters: { level: (label) => ({ level: label }) } }, to)
}

/** Ends the process at an error that nothing catches, without its text, which Node would print. */
export function endAtDefects(log: Log): void {
  process.on('uncaughtException', (error) => {
    log.error(errorFields(error), 'a defect: the process ends')
    process.exit(EXIT.internal)
  })
}

/** Returns what the log says of an error. The text of any error but a `VaultError` can repeat a value, and so can the first line of its stack. */
export function errorFields(error: unknown): object {
  if (isVaultError(error)) return { code: error.code, reason: error.message }
  if (!(error instanceof Error)) return { kind: typeof error }
  const code = codeOf(error)
  return { kind: error.name, ...(code !== undefined && { code }), at: framesOf(error) }
}
