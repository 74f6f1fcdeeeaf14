/** Rows as a table of a terminal. */

import { cellText, type Row } from './cells.ts'

const GAP = '  '
/** A column that others push below this width is cut. */
const MIN_WIDTH = 8

/** Returns the rows as lines: a head, and one line a row. Cells of a terminal are cut to its `width`; those of a file never. */
export function printTable(rows: readonly Row[], { width }: { readonly width: number | undefined }): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const cells = rows.map((row) => names.map((name) => cellText(row[name])))
  const widths = names.map((name, index) =>
    cells.reduce((most, row) => Math.max(most, lengthOf(row[index] ?? '')), lengthOf(name)),
  )
  const shown = width === undefined ? widths : fitWidths(widths, width)
  const line = (texts: readonly string[]) =>
    texts
      .map((text, index) => fitText(text, shown[index] ?? 0))
      .join(GAP)
      .trimEnd()
  return [names, ...cells].map((row) => `${line(row)}\n`).join('')
}

/** Cuts the widest columns until the line fits. */
function fitWidths(widths: readonly number[], width: number): readonly number[] {
  const fitted = [...widths]
  const total = () => fitted.reduce((sum, one) => sum + one, 0) + GAP.length * (fitted.length - 1)
  while (total() > width) {
    const widest = fitted.reduce((most, one, index) => (one > (fitted[most] ?? 0) ? index : most), 0)
    const now = fitted[widest] ?? 0
    if (now <= MIN_WIDTH) break
    fitted[widest] = now - 1
  }
  return fitted
}

function fitText(text: string, width: number): string {
  const characters = [...text]
  return characters.length > width ? `${characters.slice(0, width - 1).join('')}…` : text + ' '.repeat(width - characters.length)
}

function lengthOf(text: string): number {
  return [...text].length
}
