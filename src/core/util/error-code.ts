/** The code and the text of an error of the runtime. Not by `instanceof`: in Jest the runtime has another class `Error` than this code. */

/** Returns the code of an error, such as `ENOENT`; undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' && /^[A-Z][A-Z0-9_]{0,40}$/.test(error.code) ? error.code : undefined
}

/** Returns the text of an error, to recognize it. It can quote a value. */
export function errorText(error: unknown): string {
  const text = typeof error === 'object' && error !== null && 'message' in error ? error.message : ''
  return typeof text === 'string' ? text : ''
}

/** True if a permission that the process was started without refused a call: by its code in Node, by its name in Deno, which gives none. */
export function isForbidden(error: unknown): boolean {
  if (errorCode(error) === 'ERR_ACCESS_DENIED') return true
  return typeof error === 'object' && error !== null && 'name' in error && error.name === 'NotCapable'
}
