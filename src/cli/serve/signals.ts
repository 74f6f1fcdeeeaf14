/** The signals by which an operator ends the server, or has it read its TLS files again. */

/** What an operator asks for by signals. */
export interface Signals {
  /** Resolves at the first SIGTERM or SIGINT: end without losing a request. */
  readonly end: Promise<void>
  /** Resolves at the second: end now. */
  readonly endNow: Promise<void>
}

/** A terminal sends Ctrl-C to all processes, and npx passes it on: what comes within so many milliseconds is one signal. */
const SAME_MS = 500

/** Follows the signals of this process. Without `reload`, SIGHUP ends it, as it does when a terminal is closed. */
export function followSignals(reload: (() => void) | undefined): Signals {
  const first = Promise.withResolvers<void>()
  const second = Promise.withResolvers<void>()
  let begun: number | undefined
  const onEnd = (): void => {
    if (begun !== undefined && performance.now() - begun > SAME_MS) second.resolve()
    begun ??= performance.now()
    first.resolve()
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onEnd)
  if (reload !== undefined) process.on('SIGHUP', reload)
  return { end: first.promise, endNow: second.promise }
}
