/** Parses queries and paths. */
/** Returns the texts of a query. */
export function parseQuery(text: string): ReadonlyMap<string, readonly string[]> {
  const map = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(text)) map.set(name, [...(map.get(name) ?? []), value])
  return map
}
/** Returns a decoded segment. */
export function decodePathSegment(segment: string): string {
  return decodeURIComponent(segment)
}
