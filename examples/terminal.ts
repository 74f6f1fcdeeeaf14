/** Prints the examples: headings, lines, and small tables that fit a terminal. */

const isColoured = process.stdout.isTTY === true || process.env.FORCE_COLOR === '1'

/** A heading with a blank line before it. */
export function heading(text: string): void {
  console.log(`\n${paint(1, text)}`)
}

/** One indented line. */
export function line(text: string): void {
  console.log(text === '' ? '' : `   ${text}`)
}

/** Rows as "name value" lines, names aligned; one block a row. */
export function table(rows: readonly object[]): void {
  for (const row of rows) {
    const entries = Object.entries(row)
    const width = Math.max(...entries.map(([name]) => name.length))
    for (const [name, value] of entries) console.log(`   ${paint(36, name.padEnd(width))}  ${String(value)}`)
    if (rows.length > 1) console.log('')
  }
}

function paint(code: number, text: string): string {
  return isColoured ? `\u001b[${code}m${text}\u001b[0m` : text
}
