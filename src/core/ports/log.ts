/** Log of the vault, in the shape of pino. It receives names, codes and counts, never a value, a token or key material. */

/** A logger such as pino: fields first, then the message. Its methods return at once and must not throw. */
export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
