/** Draws how rates change with size as an SVG line chart: one panel per operation, one line per storage. */
import { at } from '../../src/core/util/lists.ts'
import { escapeXml, originOf, STORAGE_HEADINGS, svgDocument } from './chart-parts.ts'
import { type Entry, type Result, type StorageName, storageNames } from './result-shape.ts'

const COLUMNS = 3
const PANEL = { width: 290, height: 190 } as const
const TOP = 92
/** The plot inside its panel. */
const PLOT = { left: 44, top: 28, right: 18, bottom: 34 } as const
const WIDTH = COLUMNS * PANEL.width
/** Range of the vertical axis as powers of two: from a sixteenth to twice the rate at the smallest size. */
const MIN_POWER = -4
const MAX_POWER = 1

/** An entry of the growth chart. */
type Point = Entry & { readonly series: string }

/** Returns the SVG text, and undefined if the result has no entry of the growth chart. */
export function drawGrowth(result: Result): string | undefined {
  const points = result.entries.filter((entry): entry is Point => entry.series !== undefined)
  const names = [...new Set(points.map(({ series }) => series))]
  if (names.length === 0) return undefined
  const storages = storageNames.filter((storage) => points.some((point) => point.storage === storage))
  const panels = names.map((name, index): Panel => {
    const x = (index % COLUMNS) * PANEL.width
    const y = TOP + Math.floor(index / COLUMNS) * PANEL.height
    return { name, x, y, points: points.filter(({ series }) => series === name) }
  })
  return svgDocument(
    {
      ...{ width: WIDTH, height: TOP + Math.ceil(names.length / COLUMNS) * PANEL.height },
      title: 'strongroom benchmarks: growth',
      description: describe(points),
      heading: 'Rate at each size, relative to the rate at the smallest size',
      notes: [
        'A level line means that size does not matter. Across: records in the table, or events in the trail.',
        originOf(result),
      ],
    },
    [...storages.flatMap(drawLegend), ...panels.flatMap((panel) => drawPanel(panel, storages))],
  )
}

/** The points of one operation, and where its panel is. */
interface Panel {
  readonly name: string
  readonly x: number
  readonly y: number
  readonly points: readonly Point[]
}

function drawLegend(storage: StorageName, index: number): string[] {
  const x = 12 + index * 120
  return [
    `<line class="${storage}" x1="${x}" y1="80" x2="${x + 28}" y2="80"/>`,
    `<text x="${x + 34}" y="84">${escapeXml(STORAGE_HEADINGS[storage])}</text>`,
  ]
}

function drawPanel(panel: Panel, storages: readonly StorageName[]): string[] {
  const { x, y, name, points } = panel
  const sizes = [...new Set(points.map(({ rows }) => rows))].sort((left, right) => left - right)
  const xOf = (rows: number): number => {
    const [first, last] = [Math.log(at(sizes, 0)), Math.log(at(sizes, sizes.length - 1))]
    const share = last === first ? 0 : (Math.log(rows) - first) / (last - first)
    return Math.round(x + PLOT.left + share * (PANEL.width - PLOT.left - PLOT.right))
  }
  const bottom = y + PANEL.height - PLOT.bottom
  return [
    `<text class="group" x="${x + PLOT.left}" y="${y + 16}">${escapeXml(name)}</text>`,
    ...drawRates(panel),
    ...sizes.map(
      (rows) => `<text class="faint" x="${xOf(rows)}" y="${bottom + 16}" text-anchor="middle">${shortCount(rows)}</text>`,
    ),
    ...storages.flatMap((storage) => {
      const own = points.filter((point) => point.storage === storage).sort((left, right) => left.rows - right.rows)
      const places = own.map(({ rows, ratio }) => `${xOf(rows)},${yOf(y, ratio)}`)
      return places.length === 0 ? [] : [`<polyline class="${storage}" points="${places.join(' ')}"/>`]
    }),
  ]
}

/** Draws a labeled line at each power of two of the rate. The line at the rate of the smallest size is stronger. */
function drawRates({ x, y }: Panel): string[] {
  const powers = Array.from({ length: MAX_POWER - MIN_POWER + 1 }, (_, index) => MIN_POWER + index)
  const [left, right] = [x + PLOT.left, x + PANEL.width - PLOT.right]
  return powers.flatMap((power) => {
    const height = yOf(y, 2 ** power)
    const name = power < 0 ? `1/${2 ** -power}` : `${2 ** power}`
    return [
      `<line class="${power === 0 ? 'goal' : 'line'}" x1="${left}" y1="${height}" x2="${right}" y2="${height}"/>`,
      `<text class="faint" x="${left - 6}" y="${height + 4}" text-anchor="end">${name}</text>`,
    ]
  })
}

/** Returns the y of a ratio on the logarithmic axis of the panel at `top`. Values outside the range are drawn at its edge. */
function yOf(top: number, ratio: number): number {
  const power = Math.min(MAX_POWER, Math.max(MIN_POWER, Math.log2(ratio)))
  const share = (MAX_POWER - power) / (MAX_POWER - MIN_POWER)
  return Math.round(top + PLOT.top + share * (PANEL.height - PLOT.top - PLOT.bottom))
}

/** Returns `10k` or `1M`. */
function shortCount(count: number): string {
  if (count >= 1e6) return `${count / 1e6}M`
  return count >= 1e3 ? `${count / 1e3}k` : `${count}`
}

function describe(points: readonly Point[]): string {
  return points
    .map(({ series, storage, rows, ratio }) => `${series} on ${storage} at ${rows.toLocaleString('en')}: ${ratio.toFixed(2)}`)
    .join('; ')
}
