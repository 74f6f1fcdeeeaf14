/** The canonical text of a JSON value. Source: RFC 8785, JSON Canonicalization Scheme. */
import { required } from '../util/at.ts'
import type { JsonValue } from './column-type.ts'

/** Returns the canonical text of plain JSON data without lone surrogates: members in the order of their UTF-16 units, no white space. */
export function jsonCanonical(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isList(value)) return `[${value.map(jsonCanonical).join(',')}]`
  const members = Object.keys(value).sort()
  return `{${members.map((name) => `${JSON.stringify(name)}:${jsonCanonical(required(value[name], 'A member of a JSON value'))}`).join(',')}}`
}

/** `Array.isArray` for a readonly list. */
export function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}
