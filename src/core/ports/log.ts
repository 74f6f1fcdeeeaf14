/** What core asks of a log: pino's shape. It is handed names, codes and counts, never a value, a token or key material. */

/** A log as pino, and many others, answer one: facts first, then the sentence. */
export interface Log {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}
