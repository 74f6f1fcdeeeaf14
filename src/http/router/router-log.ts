/** The log of a handler: failures that happen outside of a vault. */

/** A log in the shape of pino. Fields never hold a value or a credential. */
export interface HttpLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
