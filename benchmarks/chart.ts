/** Figures as a picture: storage by storage, one bar for each entry, how far it is past its target. */
import { hasTarget, headroomOf, isMet, type Result, type StorageName, storageNames, type TargetedEntry } from './entries.ts'
import { formatTarget } from './report.ts'

const ROW = 22
const TOP = 84
const LABELS = 330
const BARS = 420
const RIGHT = 130
const WIDTH = LABELS + BARS + RIGHT
/** Powers of two the picture spans: from a quarter of the target to eight times. */
const LOWEST = -2
const HIGHEST = 3

const HEADINGS: Readonly<Record<StorageName, string>> = {
  sqlite: 'SQLite',
  postgres: 'PostgreSQL',
  memory: 'In memory',
  none: 'Without a storage',
}

/** One line of the picture. */
type Line = { readonly heading: string } | { readonly entry: TargetedEntry }

/** Entries without a target are in the table alone. */
export function drawChart({ machine, commit, entries: all }: Result): string {
  const entries = all.filter(hasTarget)
  const lines = linesOf(entries)
  const height = TOP + lines.length * ROW + 44
  const place = `${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, commit ${commit}`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title about">`,
    '<title id="title">strongroom benchmarks: ratios against their targets</title>',
    `<desc id="about">${escapeXml(describe(entries))}</desc>`,
    STYLE,
    `<rect class="paper" width="${WIDTH}" height="${height}"/>`,
    `<text class="head" x="12" y="24">How far past its target each ratio to a floor of the same run is</text>`,
    `<text class="faint" x="12" y="44">${escapeXml(place)}</text>`,
    ...drawScale(height - 40),
    ...lines.flatMap((line, index) => drawLine(line, TOP + index * ROW)),
    '</svg>',
    '',
  ].join('\n')
}

/** The entries of each storage under its heading, in the order they were measured. */
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

/** A line at each power of two, named above and below, the one at the target strong. */
function drawScale(bottom: number): string[] {
  const powers = Array.from({ length: HIGHEST - LOWEST + 1 }, (_, index) => LOWEST + index)
  return powers.flatMap((power) => {
    const x = placeOf(2 ** power)
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
  const [from, to] = [LABELS, placeOf(headroomOf(entry))]
  const rows = entry.rows === 0 ? '' : `, ${entry.rows.toLocaleString('en')} rows`
  return [
    `<text x="${LABELS - 8}" y="${y + 14}" text-anchor="end">${escapeXml(`${entry.bench}${rows}`)}</text>`,
    `<rect class="${isMet(entry) ? 'met' : 'missed'}" x="${from}" y="${y + 3}" width="${Math.max(1, to - from)}" height="${ROW - 8}"/>`,
    `<text class="faint" x="${LABELS + BARS + 8}" y="${y + 14}">${escapeXml(`${entry.ratio.toFixed(2)} (${formatTarget(entry)})`)}</text>`,
  ]
}

/** Where a headroom stands, by its logarithm; what lies beyond the picture stands at its edge. */
function placeOf(headroom: number): number {
  const share = (Math.log2(headroom) - LOWEST) / (HIGHEST - LOWEST)
  return Math.round(LABELS + BARS * Math.min(1, Math.max(0, share)))
}

function describe(entries: readonly TargetedEntry[]): string {
  return entries
    .map((entry) => `${entry.bench} on ${entry.storage}: ${entry.ratio.toFixed(2)}, target ${formatTarget(entry)}`)
    .join('; ')
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
