/** Formats a result as a text table. */
import { at } from '../../src/core/util/lists.ts'
import { type Entry, hasTarget, isMet, type Result, type TargetedEntry } from './result-shape.ts'

/**
 * `CPU` is per operation, in microseconds. `CPU ratio` has the sense of `ratio`. `hold` is the longest hold of the event loop, in milliseconds, and
 * `its GC` the part of it in which garbage was collected.
 */
const HEADINGS = [
  ...(['benchmark', 'storage', 'rows', 'figure', 'baseline', 'its figure', 'ratio', 'target', 'met'] as const),
  ...(['CPU', 'its CPU', 'CPU ratio', 'hold', 'its GC'] as const),
] as const
/** Columns with words. They are aligned left. */
const WORDS: ReadonlySet<string> = new Set(['benchmark', 'storage', 'baseline', 'met'])

export function formatTable({ machine, commit, entries }: Result): string {
  const rows = [HEADINGS, ...entries.map(cellsOf)]
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => at(row, column).length)))
  const lines = rows.map((row) =>
    HEADINGS.map((heading, column) => pad(at(row, column), at(widths, column), heading))
      .join('  ')
      .trimEnd(),
  )
  const targeted = entries.filter(hasTarget)
  const met = targeted.filter(isMet).length
  const origin = `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGibibytes} GiB, Node ${machine.node}, ${machine.platform}, commit ${commit}`
  return [origin, '', ...lines, '', `${met} of ${targeted.length} targets met`].join('\n')
}

/** Returns a figure with its unit and at most three significant digits, where the unit allows. */
export function formatFigure(figure: number, unit: Entry['unit']): string {
  if (unit === 'ms') return `${figure.toFixed(1)} ms`
  if (unit === 'us' || unit === 'pages') return `${figure.toFixed(1)} ${unit}`
  if (unit === 'bytes/record') return `${figure.toFixed(0)} B`
  if (unit === 'MiB/s' || unit === 'MiB') return `${figure.toFixed(0)} ${unit}`
  if (figure >= 1e6) return `${(figure / 1e6).toFixed(2)}M/s`
  if (figure >= 1e4) return `${(figure / 1e3).toFixed(0)}k/s`
  return figure >= 1e3 ? `${(figure / 1e3).toFixed(1)}k/s` : `${figure.toFixed(0)}/s`
}

/** Returns `≥ 0.35` or `≤ 1.60`, with `CPU` behind it for a target of the CPU ratio. */
export function formatTarget({ target, lowerIsBetter, by }: TargetedEntry): string {
  return `${lowerIsBetter === true ? '≤' : '≥'} ${target.toFixed(2)}${by === 'cpu' ? ' CPU' : ''}`
}

function cellsOf(entry: Entry): readonly string[] {
  const { cpu, hold } = entry
  return [
    entry.benchmark,
    entry.storage,
    entry.rows.toLocaleString('en'),
    formatFigure(entry.figure, entry.unit),
    entry.baseline,
    formatFigure(entry.baselineFigure, entry.unit),
    entry.ratio.toFixed(2),
    hasTarget(entry) ? formatTarget(entry) : '-',
    hasTarget(entry) ? (isMet(entry) ? 'yes' : 'NO') : '-',
    ...(cpu === undefined ? ['-', '-', '-'] : [formatCpu(cpu.figure), formatCpu(cpu.baselineFigure), cpu.ratio.toFixed(2)]),
    hold === undefined ? '-' : hold.wall.toFixed(1),
    hold?.gc === undefined ? '-' : hold.gc.toFixed(1),
  ]
}

/** Returns microseconds with at most three significant digits below a thousand. */
function formatCpu(microseconds: number): string {
  return microseconds >= 1000 ? microseconds.toFixed(0) : microseconds.toPrecision(3)
}

function pad(cell: string, width: number, heading: string): string {
  return WORDS.has(heading) ? cell.padEnd(width) : cell.padStart(width)
}
