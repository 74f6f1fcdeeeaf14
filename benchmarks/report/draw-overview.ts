/** Draws records per second of inserting, reading and detokenizing as a small SVG bar chart: plaintext, the vault, and what is built instead. */
import { escapeXml, originOf, STORAGE_HEADINGS, svgDocument } from './chart-parts.ts'
import type { Entry, Result, StorageName } from './result-shape.ts'

/** An operation of the chart: the entry that compares it with plaintext, and the one that compares it with an alternative. */
interface Operation {
  readonly name: string
  readonly benchmark: string
  readonly alternative: string | undefined
}

const OPERATIONS: readonly Operation[] = [
  { name: 'insert', benchmark: 'insert 1,000', alternative: 'insert 1,000, alternative' },
  { name: 'read', benchmark: 'get 1,000', alternative: undefined },
  { name: 'detokenize', benchmark: 'detokenize 1,000', alternative: 'detokenize 1,000, alternative' },
]
const STORAGES: readonly StorageName[] = ['sqlite', 'postgres']

const PANEL = { width: 440, top: 96, left: 196, right: 56 } as const
const BAR = { height: 14, step: 18, gap: 16 } as const

interface Bar {
  readonly name: string
  readonly kind: 'plain' | 'met' | 'other'
  readonly rate: number
}

interface Group {
  readonly name: string
  readonly bars: readonly Bar[]
}

/** Returns the SVG text, and undefined if the result has none of these operations. */
export function drawOverview(result: Result): string | undefined {
  const panels = STORAGES.map((storage) => ({ storage, groups: groupsOf(result.entries, storage) })).filter(
    ({ groups }) => groups.length > 0,
  )
  if (panels.length === 0) return undefined
  const height = Math.max(...panels.map(({ groups }) => heightOf(groups)))
  return svgDocument(
    {
      ...{ width: panels.length * PANEL.width, height: PANEL.top + height },
      title: 'strongroom: records per second',
      description: panels.map(describe).join('; '),
      heading: 'Records per second, in calls of 1,000',
      notes: ['Each bar of strongroom is audited, sealed and durable; 5 of 6 columns have tokens.', originOf(result)],
    },
    panels.flatMap(({ storage, groups }, index) => [
      `<text class="group" x="${index * PANEL.width + 12}" y="${PANEL.top - 12}">${escapeXml(STORAGE_HEADINGS[storage])}</text>`,
      ...drawGroups(groups, index * PANEL.width),
    ]),
  )
}

function groupsOf(entries: readonly Entry[], storage: StorageName): Group[] {
  const own = entries.filter((entry) => entry.storage === storage && entry.unit === undefined)
  return OPERATIONS.flatMap(({ name, benchmark, alternative }): Group[] => {
    const entry = own.find((one) => one.benchmark === benchmark)
    if (entry === undefined) return []
    // The alternative is measured against the vault in rounds of its own: its bar is the ratio of those rounds.
    const others = own.filter((one) => one.benchmark === alternative)
    const bars: Bar[] = [
      { name: 'plaintext', kind: 'plain', rate: entry.baselineFigure },
      { name: 'strongroom', kind: 'met', rate: entry.figure },
      ...others.map(({ baseline, ratio }): Bar => ({ name: baseline, kind: 'other', rate: entry.figure / ratio })),
    ]
    return [{ name, bars }]
  })
}

function drawGroups(groups: readonly Group[], x: number): string[] {
  const max = Math.max(...groups.flatMap(({ bars }) => bars.map(({ rate }) => rate)))
  const room = PANEL.width - PANEL.left - PANEL.right
  let y = PANEL.top
  return groups.flatMap(({ name, bars }) => {
    const heading = `<text class="group" x="${x + 12}" y="${y + 11}">${escapeXml(name)}</text>`
    y += BAR.step
    const drawn = bars.flatMap((bar) => {
      const width = Math.max(1, Math.round((bar.rate / max) * room))
      const lines = [
        `<text class="faint" x="${x + PANEL.left - 8}" y="${y + 11}" text-anchor="end">${escapeXml(bar.name)}</text>`,
        `<rect class="${bar.kind}" x="${x + PANEL.left}" y="${y}" width="${width}" height="${BAR.height}"/>`,
        `<text x="${x + PANEL.left + width + 6}" y="${y + 11}">${shortRate(bar.rate)}</text>`,
      ]
      y += BAR.step
      return lines
    })
    y += BAR.gap
    return [heading, ...drawn]
  })
}

function heightOf(groups: readonly Group[]): number {
  return groups.reduce((sum, { bars }) => sum + (bars.length + 1) * BAR.step + BAR.gap, 0)
}

/** Returns `207k`, or `4.7k` below ten thousand. */
function shortRate(rate: number): string {
  const thousands = rate / 1000
  return `${thousands < 10 ? thousands.toFixed(1) : Math.round(thousands)}k`
}

function describe({ storage, groups }: { readonly storage: StorageName; readonly groups: readonly Group[] }): string {
  const parts = groups.map(({ name, bars }) => `${name} ${bars.map((bar) => `${bar.name} ${shortRate(bar.rate)}`).join(', ')}`)
  return `${STORAGE_HEADINGS[storage]}: ${parts.join('; ')}`
}
