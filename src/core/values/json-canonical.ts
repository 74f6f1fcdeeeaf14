/** The canonical text of a JSON value. Source: RFC 8785, JSON Canonicalization Scheme. */
import type { JsonValue } from './column-type.ts'

/**
 * Returns the canonical text of plain JSON data without lone surrogates: members in the order of their UTF-16 units, no white space.
 * `spell` replaces each text and each name of a member; members whose names become equal keep an order of their own.
 */
export function jsonCanonical(value: JsonValue, spell: (text: string) => string = asIs): string {
  if (typeof value === 'string') return JSON.stringify(spell(value))
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isList(value)) return `[${value.map((item) => jsonCanonical(item, spell)).join(',')}]`
  // The default order of a sort is that of UTF-16 units.
  if (spell === asIs) {
    const texts = Object.keys(value).sort()
    return `{${texts.map((name) => `${JSON.stringify(name)}:${jsonCanonical(value[name] ?? null)}`).join(',')}}`
  }
  const members = Object.entries(value).map(([name, member]) => [spell(name), jsonCanonical(member, spell)] as const)
  members.sort(([one, text], [other, otherText]) => compareUnits(one, other) || compareUnits(text, otherText))
  return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`
}

function asIs(text: string): string {
  return text
}

function compareUnits(left: string, right: string): number {
  if (left === right) return 0
  return left < right ? -1 : 1
}

/** `Array.isArray` for a readonly list. */
export function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}
