/** The time line: events as stacked bars by the kind of their action, and those that were refused. Dragging over it chooses a time. */
import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import type { OperationResult } from '../../../index.ts'
import { GROUPS, groupOf, REFUSED } from './action-groups.ts'

/** A part of the time, and what happened in it. */
type EventBin = OperationResult<'countEvents'>['bins'][number]

/** A range of time, in milliseconds since 1970. */
export interface TimeRange {
  readonly from: number
  readonly to: number
}

const KINDS = [...GROUPS, REFUSED]
const HEIGHT = 180
const SECOND = 1000
/** Share of a part that its bar takes. */
const BAR = 0.82
/** Pixels of a drag that is no click. */
const MIN_DRAG = 4

/** Returns the events of each kind in each part. */
function countKinds(bins: readonly EventBin[]): number[][] {
  return KINDS.map((kind) =>
    bins.map(({ counts, refused }) => {
      if (kind === REFUSED) return refused
      return Object.entries(counts).reduce((sum, [action, count]) => (groupOf(action) === kind ? sum + count : sum), 0)
    }),
  )
}

/** Returns the data of the chart: the tallest bars first, which shorter ones are drawn over. */
function stack(bins: readonly EventBin[], kinds: readonly (readonly number[])[]): uPlot.AlignedData {
  const below = bins.map(() => 0)
  const tops = kinds.map((counts) => counts.map((count, at) => (below[at] = (below[at] ?? 0) + count)))
  return [bins.map(({ from }) => Date.parse(from) / SECOND), ...tops.reverse()]
}

/** What the chart is made of: its width in pixels, and the time from the first part to the end of the last, in seconds. */
interface Chart {
  readonly width: number
  readonly ends: readonly [number, number]
  onChoose(range: TimeRange): void
}

function options({ width, ends: [first, last], onChoose }: Chart): uPlot.Options {
  const styles = getComputedStyle(document.documentElement)
  const token = (name: string): string => styles.getPropertyValue(name).trim()
  const axis = { stroke: token('--ink-2'), font: `11px ${token('--font')}`, ticks: { show: false } }
  const bars = uPlot.paths.bars?.({ size: [BAR, Number.POSITIVE_INFINITY], align: 1 })
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
    scales: { x: { time: true, range: () => [first, last] }, y: { range: (_, _least, most) => [0, Math.max(most, 1)] } },
    axes: [
      { ...axis, size: 28, grid: { show: false }, values: (_, splits, __, ___, step) => splits.map((at) => labelOf(at, step)) },
      {
        ...axis,
        grid: { stroke: token('--line'), width: 1 },
        size: 44,
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 1e4, 1e5],
      },
    ],
    series: [
      {},
      ...[...KINDS].reverse().map(({ name, color }) => ({
        label: name,
        fill: token(color),
        width: 0,
        points: { show: false },
        ...(bars === undefined ? {} : { paths: bars }),
      })),
    ],
    hooks: {
      setSelect: [
        (plot) => {
          const { left, width: dragged } = plot.select
          if (dragged < MIN_DRAG) return
          const at = (pixel: number): number => Math.round(plot.posToVal(pixel, 'x') * SECOND)
          onChoose({ from: at(left), to: at(left + dragged) })
        },
      ],
    },
  }
}

const hour = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const DAY_SECONDS = 86_400

/** Returns the text of a mark of the axis; where marks are days apart, its day. */
function labelOf(at: number, step: number): string {
  return (step < DAY_SECONDS ? hour : day).format(at * SECOND)
}

function endsOf(bins: readonly EventBin[]): readonly [number, number] {
  const [first = 0, second = first] = bins.map(({ from }) => Date.parse(from) / SECOND)
  return [first, first + (second - first) * bins.length]
}

/** Draws it, with its totals. */
export function TimeLine({ bins, onChoose }: { readonly bins: readonly EventBin[]; onChoose(range: TimeRange): void }) {
  const ref = useRef<HTMLDivElement>(null)
  const kinds = countKinds(bins)
  useEffect(() => {
    const place = ref.current
    if (place === null) return
    const plot = new uPlot(options({ width: place.clientWidth, ends: endsOf(bins), onChoose }), stack(bins, kinds), place)
    const resized = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT }))
    resized.observe(place)
    return () => {
      resized.disconnect()
      plot.destroy()
    }
  }, [bins])
  const totals = kinds.map((counts) => counts.reduce((sum, count) => sum + count, 0))
  return (
    <section class="time-line" aria-label="Events over time">
      <ul class="legend">
        {KINDS.map(({ name, color }, at) => (
          <li key={name}>
            <i class={`swatch ${color.slice(2)}`} aria-hidden="true" />
            {name} <b>{(totals[at] ?? 0).toLocaleString('en')}</b>
          </li>
        ))}
        <li class="faint">Drag over the chart to choose a time.</li>
      </ul>
      <div ref={ref} aria-hidden="true" class="chart" />
    </section>
  )
}
