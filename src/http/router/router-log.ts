/** The log of a handler: failures that happen outside of a vault. */

/** A log in the shape of pino. Fields never hold a value or a credential. */
export interface HttpLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Returns a log that never throws: whatever that of the host does, no response changes. */
export function safeLog(log: HttpLog | undefined): HttpLog {
  const safely = (write: () => void): void => {
    try {
      write()
    } catch {
      // There is no other place to report it.
    }
  }
  return {
    warn: (fields, message) => safely(() => log?.warn(fields, message)),
    error: (fields, message) => safely(() => log?.error(fields, message)),
  }
}
