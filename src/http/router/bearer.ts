/** The credential of a request. */
/** Returns the credential of an Authorization header; undefined if there is none. */
export function bearerOf(header: string | undefined): string | undefined {
  return /^bearer ([\x21-\x7e]{1,8192})$/i.exec(header ?? '')?.[1]
}
