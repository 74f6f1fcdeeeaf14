/** MIME types that a FILE column allows. */

/** A MIME type in lower case without parameters, or all subtypes of one type, as in `image/*`. */
export const CONTENT_TYPE_PATTERN = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/([a-z0-9][a-z0-9!#$&^_.+-]{0,62}|\*)$/

/** The type of content that no detector knows. */
export const UNKNOWN_CONTENT_TYPE = 'application/octet-stream'

const EXACT_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}$/

/** Returns a detected type as it is stored: in lower case and without parameters; UNKNOWN_CONTENT_TYPE if it has another form. */
export function toContentType(detected: unknown): string {
  const text = typeof detected === 'string' ? (detected.split(';', 1)[0] ?? '').trim().toLowerCase() : ''
  return EXACT_TYPE.test(text) ? text : UNKNOWN_CONTENT_TYPE
}

/** True if a column with these allowed types can hold a file of this type. */
export function isAllowedType(allowedTypes: readonly string[] | undefined, contentType: string): boolean {
  if (allowedTypes === undefined) return true
  return allowedTypes.some((allowed) =>
    allowed.endsWith('/*') ? contentType.startsWith(allowed.slice(0, -1)) : allowed === contentType,
  )
}
