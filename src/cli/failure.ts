/** How a command fails: one sentence, and an exit code that scripts can rely on. */
import { type ErrorCode, isVaultError } from '../public-errors.ts'

/** The exit codes of the command. Source: docs/cli.md. */
export const EXIT = {
  done: 0,
  /** The command did its work, and found something wrong: a damaged record, an unsafe setting, rows that were rejected. */
  found: 1,
  /** Wrong arguments. */
  usage: 2,
  /** No configuration, or a wrong one. */
  config: 3,
  /** Refused by the vault. */
  refused: 4,
  /** Storage, key service, target, port or disk is not available. */
  unavailable: 5,
  /** A defect. */
  internal: 6,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const

/** An exit code of the command. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** A failure of a command. `message` says what failed, where, and what to do; it never contains a value or a secret. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode, message: string, { cause }: { readonly cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'CommandFailure'
    this.exitCode = exitCode
  }
}

const OF_CODES: Readonly<Partial<Record<ErrorCode, ExitCode>>> = {
  cancelled: EXIT.interrupted,
  aborted: EXIT.unavailable,
  outcome_unknown: EXIT.unavailable,
  storage_full: EXIT.unavailable,
  unavailable: EXIT.unavailable,
  data_loss: EXIT.found,
  internal: EXIT.internal,
}

/** Sentences for errors of the system, which name a call where a person needs to know what to do. */
const OF_SYSTEM: Readonly<Record<string, string>> = {
  EADDRINUSE: 'The port is in use. Specify another one with --port, or stop what uses it.',
  EACCES: 'Permission denied. Run as an account that may read and write it.',
  EPERM: 'The system does not permit it. Run as an account that may.',
  ENOENT: 'No such file or folder.',
  EISDIR: 'It is a folder, not a file.',
  EEXIST: 'It exists already.',
  ENOSPC: 'The disk is full. Free space, and run the command again.',
  EROFS: 'The file system is read-only. Specify a place that can be written.',
  EPIPE: 'The program that reads the output has ended.',
  ECONNREFUSED: 'Nothing listens at this address.',
  ENOTFOUND: 'The host name is not known.',
  ETIMEDOUT: 'The other side does not answer.',
}

/** Returns the exit code for an error. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandFailure) return error.exitCode
  if (isVaultError(error)) return OF_CODES[error.code] ?? EXIT.refused
  return systemCodeOf(error) === undefined ? EXIT.internal : EXIT.unavailable
}

/** Returns the sentence for an error, in one line. */
export function sentenceOf(error: unknown): string {
  if (error instanceof CommandFailure) return error.message
  if (isVaultError(error)) return error.message
  const code = systemCodeOf(error)
  if (code === undefined)
    return `An error that it does not expect, which is a defect of strongroom: ${kindOf(error)}. Run again with --verbose for where.`
  const path: unknown = error instanceof Error && 'path' in error ? error.path : undefined
  return `${typeof path === 'string' ? `${path}: ` : ''}${OF_SYSTEM[code]}`
}

function systemCodeOf(error: unknown): string | undefined {
  const code = codeOf(error)
  return code !== undefined && Object.hasOwn(OF_SYSTEM, code) ? code : undefined
}

/** Messages of unknown errors can quote values, so only the kind is shown. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const code = codeOf(error)
  return code === undefined ? error.name : `${error.name} ${code}`
}

/** Returns the code of an error, such as `ENOENT`; undefined if it has none. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Returns where an error was thrown, without its message, which can quote a value. */
export function framesOf(error: unknown): readonly string[] {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  return stack.split('\n').flatMap((line) => (line.startsWith('    at ') ? [line.trim()] : []))
}
