/** Draws a result as an SVG bar chart: one bar per entry with a target, grouped by storage. */
import { escapeXml, originOf, STORAGE_HEADINGS, svgDocument } from './chart-parts.ts'
import { formatTarget } from './format-table.ts'
import { hasTarget, headroomOf, isMet, type Result, storageNames, type TargetedEntry, targetedRatio } from './result-shape.ts'

const ROW = 20
const TOP = 104
const LABELS = 370
const BARS = 360
const RIGHT = 150
const WIDTH = LABELS + BARS + RIGHT
/** Range of the axis as powers of two: from an eighth of the target to eight times the target. */
const MIN_POWER = -3
const MAX_POWER = 3

/** One line of the chart. */
type Line = { readonly heading: string } | { readonly entry: TargetedEntry }

/** Returns the SVG text. Entries without a target are left out; the table has them. */
export function drawChart(result: Result): string {
  const entries = result.entries.filter(hasTarget)
  const lines = linesOf(entries)
  const height = TOP + lines.length * ROW + 44
  return svgDocument(
    {
      ...{ width: WIDTH, height },
      title: 'strongroom benchmarks: ratios against their targets',
      description: describe(entries),
      heading: 'How far each figure is past its target',
      notes: [
        'Bars: by the clock, or by CPU where the target says so. Dots: by CPU, except on PostgreSQL. Past the target line is better. A step is twice the ratio.',
        originOf(result),
      ],
    },
    [
      ...lines.flatMap((line, index) => ('heading' in line ? [drawBand(TOP + index * ROW)] : [])),
      ...drawScale(height - 40),
      ...lines.flatMap((line, index) => drawLine(line, TOP + index * ROW)),
    ],
  )
}

/** Returns the entries of each storage below its heading, in the order of measurement. */
function linesOf(entries: readonly TargetedEntry[]): Line[] {
  return storageNames.flatMap((storage) => {
    const own = entries.filter((entry) => entry.storage === storage)
    return own.length === 0 ? [] : [{ heading: STORAGE_HEADINGS[storage] }, ...own.map((entry) => ({ entry }))]
  })
}

/** Draws a labeled line at each power of two. The line at the target is stronger. */
function drawScale(bottom: number): string[] {
  const powers = Array.from({ length: MAX_POWER - MIN_POWER + 1 }, (_, index) => MIN_POWER + index)
  return powers.flatMap((power) => {
    const x = xOf(2 ** power)
    const name = power === 0 ? 'target' : power < 0 ? `1/${2 ** -power}` : `${2 ** power}×`
    return [
      `<line class="${power === 0 ? 'goal' : 'line'}" x1="${x}" y1="${TOP - 6}" x2="${x}" y2="${bottom}"/>`,
      ...[TOP - 12, bottom + 18].map((y) => `<text class="faint" x="${x}" y="${y}" text-anchor="middle">${name}</text>`),
    ]
  })
}

/** Draws what is below a heading, and below the scale. */
function drawBand(y: number): string {
  return `<rect class="band" x="0" y="${y + 1}" width="${WIDTH}" height="${ROW - 2}"/>`
}

function drawLine(line: Line, y: number): string[] {
  if ('entry' in line) return drawEntry(line.entry, y)
  return [`<text class="group" x="12" y="${y + 14}">${escapeXml(line.heading)}</text>`]
}

function drawEntry(entry: TargetedEntry, y: number): string[] {
  const [from, to] = [LABELS, xOf(headroomOf(entry))]
  const rows = entry.rows <= 1 ? '' : `, ${entry.rows.toLocaleString('en')} rows`
  const mark = isMet(entry) ? '✓' : '✗'
  const text = `${mark} ${targetedRatio(entry).toFixed(2)} (${formatTarget(entry)})`
  return [
    `<text x="${LABELS - 8}" y="${y + 14}" text-anchor="end">${escapeXml(`${entry.benchmark}${rows}`)}</text>`,
    `<rect class="${isMet(entry) ? 'met' : 'missed'}" x="${from}" y="${y + 3}" width="${Math.max(1, to - from)}" height="${ROW - 7}"/>`,
    ...drawCpu(entry, y),
    `<text class="faint" x="${LABELS + BARS + 12}" y="${y + 14}">${escapeXml(text)}</text>`,
  ]
}

/** Draws no dot on PostgreSQL, which spends most of the CPU of both sides in another process. */
function drawCpu(entry: TargetedEntry, y: number): string[] {
  if (entry.cpu === undefined || entry.storage === 'postgres') return []
  const x = xOf(headroomOf(entry, entry.cpu.ratio))
  return [`<circle class="cpu" cx="${x}" cy="${y + ROW / 2 - 0.5}" r="4"/>`]
}

/** Returns the x of a headroom on the logarithmic axis. Values outside the range are drawn at its edge. */
function xOf(headroom: number): number {
  const share = (Math.log2(headroom) - MIN_POWER) / (MAX_POWER - MIN_POWER)
  return Math.round(LABELS + BARS * Math.min(1, Math.max(0, share)))
}

function describe(entries: readonly TargetedEntry[]): string {
  return entries
    .map((entry) => `${entry.benchmark} on ${entry.storage}: ${targetedRatio(entry).toFixed(2)}, target ${formatTarget(entry)}`)
    .join('; ')
}
