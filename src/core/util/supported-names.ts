/** What an error about an unknown name says of those that there are. */

/** Share of the letters of a name that may differ. */
const MAX_DIFFERENCE = 0.45
/** Letters of the shortest part by which a name is recognized, and how near it is. */
const MIN_PART = 3
const PART_DIFFERENCE = 0.3

/** Returns sentences with the nearest name, if one is near, and all of them. They do not repeat the given name, which can be any text. */
export function supportedNames(given: string, supported: readonly string[]): string {
  if (supported.length === 0) return 'There are none.'
  const near = nearest(given.slice(0, 64), supported)
  return `${near === undefined ? '' : `Did you mean "${near}"? `}Supported: ${supported.join(', ')}.`
}

/** Returns the name with the fewest letters to change; undefined if none is near. */
function nearest(given: string, names: readonly string[]): string | undefined {
  const measured = names.map((name) => ({ name, difference: differenceOf(lettersOf(given), lettersOf(name)) }))
  const [best] = measured.sort((left, right) => left.difference - right.difference)
  return best !== undefined && best.difference <= MAX_DIFFERENCE ? best.name : undefined
}

/** Case, and what joins words, are no difference. */
function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '')
}

/** Returns the share of letters that differ. A name that is a part of the other one is near to it. */
function differenceOf(from: string, to: string): number {
  const [part, whole] = from.length < to.length ? [from, to] : [to, from]
  const difference = distance(from, to) / whole.length
  return part.length >= MIN_PART && whole.includes(part) ? Math.min(difference, PART_DIFFERENCE) : difference
}

/** Returns how many letters must be added, removed or replaced to make one name of another. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let line = 1; line <= from.length; line++) {
    const next = [line]
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (from[line - 1] === to[column - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
