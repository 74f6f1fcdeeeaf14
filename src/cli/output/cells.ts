/** Records as a command prints them, and their values as text. */

/** What a table prints, by column. Anything but text is printed as JSON. */
export type Row = Readonly<Record<string, unknown>>

/** Integers beyond what JSON numbers carry are text, as on the wire. */
export function plainValue(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

/** Stored text can move the cursor of a terminal or clear it, so control characters are shown as escapes. */
export function cellText(value: unknown): string {
  const text = value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value, plainValue)
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (one) => `\\u${(one.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)
}

/** A time in milliseconds since 1970 as RFC 3339, in whole seconds. */
export function timeOf(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`
}
