/** Prints the examples: headings, lines, and small tables that fit a terminal. */

const isColoured = process.stdout.isTTY === true || process.env.FORCE_COLOR === '1'

/** A heading with a blank line before it. */
export function heading(text: string): void {
  console.log(`\n${paint(1, text)}`)
}

/** Characters a line is broken after. */
const WIDEST = 110

/** Indented text, broken between words where it is long. */
export function line(text: string): void {
  const [, head = text, tail = ''] = text.length > WIDEST ? (new RegExp(`^(.{1,${WIDEST}}) (.*)$`, 's').exec(text) ?? []) : []
  console.log(head === '' ? '' : `   ${head}`)
  if (tail !== '') line(tail)
}

/** Rows as "name value" lines, names aligned; one block a row. */
export function table(rows: readonly object[]): void {
  for (const row of rows) {
    const entries = Object.entries(row)
    const width = Math.max(...entries.map(([name]) => name.length))
    for (const [name, value] of entries) console.log(`   ${paint(36, name.padEnd(width))}  ${String(value)}`)
    if (row !== rows[rows.length - 1]) console.log('')
  }
}

function paint(code: number, text: string): string {
  return isColoured ? `\u001b[${code}m${text}\u001b[0m` : text
}
