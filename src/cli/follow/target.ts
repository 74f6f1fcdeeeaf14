/** What receives events: a file, standard output, an HTTP server, a syslog receiver. */

import { CommandFailure, codeOf } from '../failure.ts'

/** An event as it is sent. */
export interface Message {
  /** In the form that was asked for, without a line end. */
  readonly text: string
  /** RFC 3339 in UTC with nine decimals. */
  readonly timestamp: string
  /** The kind of operation, such as `INSERT`. */
  readonly action: string
  /** HTTP status of its outcome. */
  readonly code: number
}

/** Receives messages in order. */
export interface Target {
  /** Its address without secrets, for logs. */
  readonly name: string
  /**
   * Resolves when all messages are received, as far as the protocol shows it. Throws `TargetFailure`, or an error of the system; some of them can have been
   * received then, and the same messages are given again. The signal ends the attempt.
   */
  deliver(messages: readonly Message[], signal: AbortSignal): Promise<void>
  /** Called once a second while nothing is delivered. */
  tend?(): Promise<void>
  /** Opens a file again, after SIGHUP. */
  reopen?(): void
  close?(): Promise<void>
}

/** Why messages were not received, as a clause. It holds no part of a message, and no secret. */
export class TargetFailure extends Error {
  /** How long the target asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, retryAfterMs?: number) {
    super(message)
    this.name = 'TargetFailure'
    this.retryAfterMs = retryAfterMs
  }
}

/** Codes of errors that are no defect: those of files and of the network. */
const SYSTEM_CODE =
  /^(E[A-Z0-9]+|CERT_[A-Z_]+|[A-Z_]*(CERT|SIGNATURE|ISSUER)[A-Z_]*|ERR_(SSL|TLS)_[A-Z0-9_]+|(UND_ERR|HPE)_[A-Z_]+)$/

/** Returns why a delivery failed, as a clause; undefined for a defect. */
export function reasonOf(error: unknown): string | undefined {
  if (error instanceof TargetFailure) return error.message
  if (!(error instanceof Error) || error instanceof CommandFailure) return undefined
  const code = codeOf(error)
  if (code !== undefined && SYSTEM_CODE.test(code)) return code
  return error.cause === undefined ? undefined : reasonOf(error.cause)
}
