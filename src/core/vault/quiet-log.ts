/** The log of an application, whose errors stay its own. */
import type { Log } from '../ports/observability.ts'

/** Returns a log that never throws, so that its errors change neither a result nor an error. */
export function quietLog(log: Log | undefined): Log | undefined {
  if (log === undefined) return undefined
  const quiet = (level: keyof Log) => (fields: object, message: string) => {
    try {
      const returned: unknown = log[level](fields, message)
      if (returned instanceof Promise) returned.catch(() => {})
    } catch {
      // The result of the operation matters more than its log.
    }
  }
  return { info: quiet('info'), warn: quiet('warn'), error: quiet('error') }
}
