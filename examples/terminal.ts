/** Prints headings, lines and small tables for the examples. */

const isColored = process.stdout.isTTY === true || process.env.FORCE_COLOR === '1'

/** Prints a heading with a blank line before it. */
export function heading(text: string): void {
  console.log(`\n${paint(1, text)}`)
}

/** Maximum characters per line. */
const MAX_LINE_LENGTH = 110

/** Prints indented text and breaks long lines between words. */
export function line(text: string): void {
  const [, head = text, tail = ''] =
    text.length > MAX_LINE_LENGTH ? (new RegExp(`^(.{1,${MAX_LINE_LENGTH}}) (.*)$`, 's').exec(text) ?? []) : []
  console.log(head === '' ? '' : `   ${head}`)
  if (tail !== '') line(tail)
}

/** Prints each row as a block of aligned "name value" lines. */
export function table(rows: readonly object[]): void {
  for (const row of rows) {
    const entries = Object.entries(row)
    const width = Math.max(...entries.map(([name]) => name.length))
    for (const [name, value] of entries) console.log(`   ${paint(36, name.padEnd(width))}  ${String(value)}`)
    if (row !== rows[rows.length - 1]) console.log('')
  }
}

const BAR_LENGTH = 40

/** Returns a function that draws how far long work is: over the line before in a terminal, else a line for each quarter. */
export function progressBar(label: string): (progress: { readonly done: number; readonly total?: number }) => void {
  let drawn = 0
  return ({ done, total = done }) => {
    const share = total === 0 ? 1 : Math.min(1, done / total)
    const filled = Math.round(share * BAR_LENGTH)
    const bar = `   ${'█'.repeat(filled)}${'░'.repeat(BAR_LENGTH - filled)}  ${Math.round(share * 100)} % ${label}`
    if (process.stdout.isTTY === true) process.stdout.write(`\r${bar}${share === 1 ? '\n' : ''}`)
    else if (share * 4 >= drawn + 1) console.log(bar)
    drawn = Math.floor(share * 4)
  }
}

/** Returns text in a style of the terminal, if it has styles. */
export function paint(code: number, text: string): string {
  return isColored ? `\u001b[${code}m${text}\u001b[0m` : text
}
