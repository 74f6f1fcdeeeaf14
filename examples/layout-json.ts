/** Lays out JSON for people: what fits is on one line, and of the rest each member has its own. */

/** Returns the lines of a value. A text is never broken, so a line can be longer than the width. */
export function layoutJson(value: unknown, width: number): string[] {
  const text = inline(value)
  if (text.length <= width || typeof value !== 'object' || value === null) return [text]
  const isList = Array.isArray(value)
  const members = Object.entries(value).flatMap(([name, member], index, all) => {
    const label = isList ? '' : `${JSON.stringify(name)}: `
    const lines = layoutJson(member, width - 2).map((line, at) => `  ${at === 0 ? label : ''}${line}`)
    return index === all.length - 1 ? lines : [...lines.slice(0, -1), `${lines.at(-1) ?? ''},`]
  })
  return [isList ? '[' : '{', ...members, isList ? ']' : '}']
}

function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${inline(member)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}
