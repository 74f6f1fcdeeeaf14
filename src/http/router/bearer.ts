/** The credential in the Authorization header of a request. */

// Visible ASCII without the comma, which joins the values of a header that is sent twice.
const BEARER = /^bearer +([\x21-\x2b\x2d-\x7e]{1,8192})$/i

/** Returns the text after "Bearer "; undefined unless the header is exactly one bearer credential of 1 to 8,192 visible characters. */
export function bearerOf(header: string | undefined): string | undefined {
  return header === undefined ? undefined : BEARER.exec(header)?.[1]
}
