/** The one text of a JSON value: RFC 8785, members in the order of their UTF-16 units, numbers as ECMAScript writes them. */
import type { JsonValue } from './column-type.ts'

/** Canonical text of plain JSON data without lone surrogates. */
export function jsonCanonical(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isList(value)) return `[${value.map(jsonCanonical).join(',')}]`
  const members = Object.keys(value).sort()
  return `{${members.map((name) => `${JSON.stringify(name)}:${jsonCanonical(value[name] ?? null)}`).join(',')}}`
}

/** `Array.isArray` without its `any`. */
export function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}
