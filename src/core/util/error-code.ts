/** Returns the code of an error of the runtime, such as `ENOENT`; undefined for anything else. Not by `instanceof`: in Jest the runtime has another class `Error` than this code. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' && /^[A-Z][A-Z0-9_]{0,40}$/.test(error.code) ? error.code : undefined
}
