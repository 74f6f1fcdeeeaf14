/** Recognizes tables in text: rows of equal length, as RFC 4180 describes them. A text that merely has commas is not one. */

const DELIMITERS = [
  { delimiter: ',', type: 'text/csv' },
  { delimiter: ';', type: 'text/csv' },
  { delimiter: '\t', type: 'text/tab-separated-values' },
] as const

/** A table has a row of names and one of values at least. */
const MIN_ROWS = 2
const MIN_COLUMNS = 2

/** Returns the type of a text that is a table; undefined if it is not. The last row of a text that is not whole is ignored. */
export function tableType(text: string, isWhole: boolean): string | undefined {
  return DELIMITERS.find(({ delimiter }) => isTable(text, delimiter, isWhole))?.type
}

function isTable(text: string, delimiter: string, isWhole: boolean): boolean {
  let columns = 0
  let rows = 0
  for (let position = 0; position < text.length; ) {
    const row = readRow(text, position, delimiter)
    if (row === undefined) return false
    if (row === 'cut' || (row.isCut && !isWhole)) break
    if (rows === 0 && !isHeader(row.cells)) return false
    if (rows > 0 && row.cells.length !== columns) return false
    columns = row.cells.length
    rows++
    position = row.end
    if (rows >= MIN_ROWS && position >= text.length) return true
  }
  return !isWhole && rows >= MIN_ROWS
}

/** True for names of columns: two at least, none empty, none twice. */
function isHeader(cells: readonly string[]): boolean {
  const names = cells.map((cell) => cell.trim())
  return names.length >= MIN_COLUMNS && !names.includes('') && new Set(names).size === names.length
}

interface Row {
  readonly cells: readonly string[]
  /** Position of the next row. */
  readonly end: number
  /** True if the text ends without a line break behind the row. */
  readonly isCut: boolean
}

/** Reads one row. Returns "cut" if the text ends within a quoted cell, and undefined if text follows a closing quote. */
function readRow(text: string, start: number, delimiter: string): Row | 'cut' | undefined {
  const cells: string[] = []
  for (let position = start; ; position++) {
    const end = text[position] === '"' ? endOfQuoted(text, position) : endOfPlain(text, position, delimiter)
    if (end === undefined) return 'cut'
    cells.push(text.slice(position, end))
    position = end
    const next = text[position]
    if (next === delimiter) continue
    if (next === undefined) return { cells, end: position, isCut: true }
    if (next === '\n') return { cells, end: position + 1, isCut: false }
    if (next === '\r') return { cells, end: position + (text[position + 1] === '\n' ? 2 : 1), isCut: false }
    return undefined
  }
}

function endOfPlain(text: string, start: number, delimiter: string): number {
  let position = start
  for (; position < text.length; position++) {
    const next = text[position]
    if (next === delimiter || next === '\n' || next === '\r') break
  }
  return position
}

/** Returns the position behind the closing quote. Two quotes are one quote of the cell. */
function endOfQuoted(text: string, start: number): number | undefined {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 2)) {
    if (text[quote + 1] !== '"') return quote + 1
  }
  return undefined
}
