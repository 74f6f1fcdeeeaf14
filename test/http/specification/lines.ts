/** The lines that the walk compares: what one side says of an endpoint, a piece each. */

/** One piece: `GET /v1/audit/events`, what it is about (`query limit`, `200 records[].token`, `status 404`), and what it says (`type string`). */
export interface Line {
  readonly route: string
  readonly about: string
  readonly says: string
}

/** Returns a line as text. */
export function textOf({ route, about, says }: Line): string {
  return [route, about, says].filter((part) => part !== '').join(' | ')
}

/** Returns the lines of one side that the other side lacks. */
export function without(lines: readonly Line[], others: readonly Line[]): Line[] {
  const known = new Set(others.map(textOf))
  return lines.filter((line) => !known.has(textOf(line)))
}
