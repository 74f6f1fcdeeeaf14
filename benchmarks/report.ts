/** Figures as a table for the screen. */
import { type Entry, hasTarget, isMet, type Result, type TargetedEntry } from './entries.ts'

const HEADINGS = ['bench', 'storage', 'rows', 'ours', 'floor', "floor's", 'ratio', 'target', 'met'] as const
/** Columns that hold words and stand on the left of their place. */
const WORDS: ReadonlySet<string> = new Set(['bench', 'storage', 'floor', 'met'])

export function formatReport({ machine, commit, entries }: Result): string {
  const rows = [HEADINGS, ...entries.map(cellsOf)]
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map((row) =>
    HEADINGS.map((heading, column) => pad(row[column] ?? '', widths[column] ?? 0, heading))
      .join('  ')
      .trimEnd(),
  )
  const targeted = entries.filter(hasTarget)
  const met = targeted.filter(isMet).length
  const place = `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGibibytes} GiB, Node ${machine.node}, ${machine.platform}, commit ${commit}`
  return [place, '', ...lines, '', `${met} of ${targeted.length} targets met`].join('\n')
}

/** A figure with its unit, short enough to compare at a glance. */
export function formatFigure(figure: number, unit: Entry['unit']): string {
  if (unit === 'ms') return `${figure.toFixed(1)} ms`
  if (unit === 'bytes/record') return `${figure.toFixed(0)} B`
  if (figure >= 1e6) return `${(figure / 1e6).toFixed(2)}M/s`
  if (figure >= 1e4) return `${(figure / 1e3).toFixed(0)}k/s`
  return figure >= 1e3 ? `${(figure / 1e3).toFixed(1)}k/s` : `${figure.toFixed(0)}/s`
}

/** `≥ 0.35` or `≤ 1.60`. */
export function formatTarget({ target, lowerIsBetter }: TargetedEntry): string {
  return `${lowerIsBetter === true ? '≤' : '≥'} ${target.toFixed(2)}`
}

function cellsOf(entry: Entry): readonly string[] {
  return [
    entry.bench,
    entry.storage,
    entry.rows.toLocaleString('en'),
    formatFigure(entry.medianOpsPerSecond, entry.unit),
    entry.floor,
    formatFigure(entry.floorOpsPerSecond, entry.unit),
    entry.ratio.toFixed(2),
    hasTarget(entry) ? formatTarget(entry) : '-',
    hasTarget(entry) ? (isMet(entry) ? 'yes' : 'NO') : '-',
  ]
}

function pad(cell: string, width: number, heading: string): string {
  return WORDS.has(heading) ? cell.padEnd(width) : cell.padStart(width)
}
