/** Draws a result as an SVG bar chart: one bar per entry with a target, grouped by storage. */

import { formatTarget } from './format-table.ts'
import { hasTarget, headroomOf, isMet, type Result, type StorageName, storageNames, type TargetedEntry } from './result-shape.ts'

const ROW = 22
const TOP = 84
const LABELS = 330
const BARS = 420
const RIGHT = 130
const WIDTH = LABELS + BARS + RIGHT
/** Range of the axis as powers of two: from a quarter of the target to eight times the target. */
const MIN_POWER = -2
const MAX_POWER = 3

const HEADINGS: Readonly<Record<StorageName, string>> = {
  sqlite: 'SQLite',
  postgres: 'PostgreSQL',
  memory: 'In memory',
  none: 'Without storage',
}

/** One line of the chart. */
type Line = { readonly heading: string } | { readonly entry: TargetedEntry }

/** Returns the SVG text. Entries without a target are left out; the table has them. */
export function drawChart({ machine, commit, entries: all }: Result): string {
  const entries = all.filter(hasTarget)
  const lines = linesOf(entries)
  const height = TOP + lines.length * ROW + 44
  const origin = `${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, commit ${commit}`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title about">`,
    '<title id="title">strongroom benchmarks: ratios against their targets</title>',
    `<desc id="about">${escapeXml(describe(entries))}</desc>`,
    STYLE,
    `<rect class="paper" width="${WIDTH}" height="${height}"/>`,
    `<text class="head" x="12" y="24">Ratio to the baseline of the same run, relative to its target</text>`,
    `<text class="faint" x="12" y="44">${escapeXml(origin)}</text>`,
    ...drawScale(height - 40),
    ...lines.flatMap((line, index) => drawLine(line, TOP + index * ROW)),
    '</svg>',
    '',
  ].join('\n')
}

/** Returns the entries of each storage below its heading, in the order of measurement. */
function linesOf(entries: readonly TargetedEntry[]): Line[] {
  return storageNames.flatMap((storage) => {
    const own = entries.filter((entry) => entry.storage === storage)
    return own.length === 0 ? [] : [{ heading: HEADINGS[storage] }, ...own.map((entry) => ({ entry }))]
  })
}

const STYLE = `<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.head { font-size: 15px; font-weight: 600 }
.group { font-weight: 600 }
.faint { fill: #59636e }
.paper { fill: #ffffff }
.met { fill: #1a7f37 }
.missed { fill: #cf222e }
.line { stroke: #d1d9e0; stroke-width: 1 }
.goal { stroke: #1f2328; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .faint { fill: #9198a1 } .paper { fill: #0d1117 }
  .met { fill: #3fb950 } .missed { fill: #f85149 } .line { stroke: #3d444d } .goal { stroke: #f0f6fc }
}
</style>`

/** Draws a labeled line at each power of two. The line at the target is stronger. */
function drawScale(bottom: number): string[] {
  const powers = Array.from({ length: MAX_POWER - MIN_POWER + 1 }, (_, index) => MIN_POWER + index)
  return powers.flatMap((power) => {
    const x = xOf(2 ** power)
    const name = power === 0 ? 'target' : `${2 ** power}×`
    return [
      `<line class="${power === 0 ? 'goal' : 'line'}" x1="${x}" y1="${TOP - 6}" x2="${x}" y2="${bottom}"/>`,
      ...[TOP - 12, bottom + 18].map((y) => `<text class="faint" x="${x}" y="${y}" text-anchor="middle">${name}</text>`),
    ]
  })
}

function drawLine(line: Line, y: number): string[] {
  if ('entry' in line) return drawEntry(line.entry, y)
  return [`<text class="group" x="12" y="${y + 14}">${escapeXml(line.heading)}</text>`]
}

function drawEntry(entry: TargetedEntry, y: number): string[] {
  const [from, to] = [LABELS, xOf(headroomOf(entry))]
  const rows = entry.rows === 0 ? '' : `, ${entry.rows.toLocaleString('en')} rows`
  return [
    `<text x="${LABELS - 8}" y="${y + 14}" text-anchor="end">${escapeXml(`${entry.benchmark}${rows}`)}</text>`,
    `<rect class="${isMet(entry) ? 'met' : 'missed'}" x="${from}" y="${y + 3}" width="${Math.max(1, to - from)}" height="${ROW - 8}"/>`,
    `<text class="faint" x="${LABELS + BARS + 8}" y="${y + 14}">${escapeXml(`${entry.ratio.toFixed(2)} (${formatTarget(entry)})`)}</text>`,
  ]
}

/** Returns the x of a headroom on the logarithmic axis. Values outside the range are drawn at its edge. */
function xOf(headroom: number): number {
  const share = (Math.log2(headroom) - MIN_POWER) / (MAX_POWER - MIN_POWER)
  return Math.round(LABELS + BARS * Math.min(1, Math.max(0, share)))
}

function describe(entries: readonly TargetedEntry[]): string {
  return entries
    .map((entry) => `${entry.benchmark} on ${entry.storage}: ${entry.ratio.toFixed(2)}, target ${formatTarget(entry)}`)
    .join('; ')
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
