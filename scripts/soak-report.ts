/** The table of laws in docs/reliability.md: written from the laws, with the last run of each. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ALL_LAWS } from '../test/laws/all-laws.ts'
import type { Law } from '../test/laws/law.ts'
import type { SoakRow } from './soak-run.ts'

const PAGE = join(import.meta.dirname, '../docs/reliability.md')
const BEGIN = '<!-- laws: written by `npm run soak -- --record` -->'
const END = '<!-- end of laws -->'

/** One row of the page's table, as text. */
export interface RecordedLaw {
  readonly law: string
  /** Cells: date, seed, figure run, failures. */
  readonly lastRun: readonly string[]
}

const HEADER = ['law', 'what holds', '`npm test`', 'asked of the soak', 'last run', 'seed', 'figure run', 'failures']

/** The table that a run prints. */
export function tableOf(rows: readonly SoakRow[]): string {
  return table(
    ['law', 'figure asked', 'figure run', 'seed', 'failures', 'seconds', 'share'],
    rows.map(({ law, figure, seed, failures, seconds, share }) => [
      law.name,
      figureOf(law, law.figures.soak),
      figureOf(law, figure),
      seed,
      String(failures.length),
      String(seconds),
      String(share),
    ]),
  )
}

/** Writes the results of a run into the page. Laws that did not run keep their last one. */
export function writeTable(rows: readonly SoakRow[], page = PAGE): void {
  const text = readFileSync(page, 'utf8')
  const known = readTable(text)
  const date = new Date().toISOString().slice(0, 10)
  const recorded = ALL_LAWS.map((law): RecordedLaw => {
    const row = rows.find((one) => one.law === law)
    if (row === undefined) return known.find((one) => one.law === law.name) ?? { law: law.name, lastRun: ['-', '-', '-', '-'] }
    return { law: law.name, lastRun: [date, row.seed, row.figure.toLocaleString('en'), String(row.failures.length)] }
  })
  const [before, after] = [text.slice(0, text.indexOf(BEGIN)), text.slice(text.indexOf(END))]
  writeFileSync(page, `${before}${BEGIN}\n${pageTable(recorded)}\n${after}`)
}

/** The rows of the page's table. */
export function readTable(text: string): RecordedLaw[] {
  const part = text.slice(text.indexOf(BEGIN), text.indexOf(END))
  return [...part.matchAll(/^\| `([\w-]+)` \|(.*)\|$/gm)].map(([, law = '', cells = '']) => ({
    law,
    lastRun: cells
      .split('|')
      .map((cell) => cell.trim())
      .slice(3),
  }))
}

/** The page's table with these last runs. */
export function pageTable(recorded: readonly RecordedLaw[]): string {
  return table(
    HEADER,
    ALL_LAWS.map((law) => [
      `\`${law.name}\``,
      law.statement,
      figureOf(law, law.figures.test),
      law.figures.soak.toLocaleString('en'),
      ...(recorded.find((one) => one.law === law.name)?.lastRun ?? ['-', '-', '-', '-']),
    ]),
  )
}

function figureOf(law: Law, figure: number): string {
  return `${figure.toLocaleString('en')} ${law.unit}`
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(header), `|${header.map(() => '---|').join('')}`, ...rows.map(line)].join('\n')
}
