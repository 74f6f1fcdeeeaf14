/** The output of a run: the JSON result, the table, the SVG chart, and the command line that selects them. */
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { drawChart } from '../../benchmarks/report/draw-chart.ts'
import { drawGrowth } from '../../benchmarks/report/draw-growth.ts'
import { drawOverview } from '../../benchmarks/report/draw-overview.ts'
import { formatTable } from '../../benchmarks/report/format-table.ts'
import {
  type Entry,
  hasTarget,
  headroomOf,
  isMet,
  type Result,
  resultShape,
  type TargetedEntry,
} from '../../benchmarks/report/result-shape.ts'
import { isFullRun, parseArguments } from '../../benchmarks/runner/arguments.ts'
import { describeCommit, describeMachine } from '../../benchmarks/runner/machine.ts'
import { scaleOf } from '../../benchmarks/runner/run-config.ts'
import { at } from '../../src/core/util/lists.ts'

const FAST: TargetedEntry = {
  benchmark: 'insert 1,000',
  storage: 'sqlite',
  rows: 100_000,
  figure: 123_456,
  baseline: 'plaintext <rowid> & "prepared"',
  baselineFigure: 246_912,
  ratio: 0.5,
  target: 0.35,
  cpu: { figure: 5, baselineFigure: 3, ratio: 0.6 },
  hold: { wall: 7.25, cpu: 6, gc: 2.5 },
}
const HEAVY: TargetedEntry = {
  benchmark: 'bytes on disk',
  storage: 'postgres',
  rows: 1000,
  figure: 320,
  baseline: 'plaintext table',
  baselineFigure: 160,
  ratio: 2,
  target: 1.6,
  unit: 'bytes/record',
  lowerIsBetter: true,
}
/** An entry without a target. */
const UNTARGETED: Entry = {
  benchmark: 'mint: transient',
  storage: 'sqlite',
  rows: 1000,
  figure: 10,
  baseline: 'plaintext',
  baselineFigure: 20,
  ratio: 0.5,
}
const RESULT: Result = { machine: describeMachine(), commit: describeCommit(), entries: [FAST, HEAVY, UNTARGETED] }

describe('the result', () => {
  it('of this machine and commit has the documented shape', () => {
    expect(resultShape.parse(JSON.parse(JSON.stringify(RESULT)))).toEqual(RESULT)
  })

  it('rejects unknown members, so that no host name is stored', () => {
    const named = { ...RESULT, machine: { ...RESULT.machine, host: 'somewhere' } }
    expect(resultShape.safeParse(named).success).toBe(false)
  })

  it.runIf(existsSync(latestResult()))('that is committed has the documented shape', () => {
    expect(resultShape.parse(JSON.parse(readFileSync(latestResult(), 'utf8'))).entries.length).toBeGreaterThan(0)
  })

  it('meets a target from above, or from below if lower is better', () => {
    expect([FAST, HEAVY].map(isMet)).toEqual([true, false])
    expect(isMet({ ...FAST, ratio: 0.349 })).toBe(false)
    expect(isMet({ ...HEAVY, ratio: 1.6 })).toBe(true)
    expect([FAST, HEAVY].map((entry) => headroomOf(entry))).toEqual([0.5 / 0.35, 0.8])
    expect([FAST, UNTARGETED].map(hasTarget)).toEqual([true, false])
    const byCpu = { ...FAST, by: 'cpu', cpu: { figure: 5, baselineFigure: 1, ratio: 0.2 } } as const
    expect([isMet(FAST), isMet(byCpu)]).toEqual([true, false])
  })
})

describe('the table', () => {
  it('shows for each entry the figures, the ratio, and whether the target is met', () => {
    const lines = formatTable(RESULT).split('\n')
    expect(lines.find((line) => line.startsWith('insert 1,000'))).toMatch(
      /sqlite +100,000 +123k\/s .* 247k\/s +0\.50 +≥ 0\.35 +yes +5\.00 +3\.00 +0\.60 +7\.3 +2\.5$/,
    )
    expect(lines.find((line) => line.startsWith('bytes on disk'))).toMatch(
      /postgres +1,000 +320 B .* 160 B +2\.00 +≤ 1\.60 +NO +- +- +- +- +-$/,
    )
    expect(lines.find((line) => line.startsWith('mint: transient'))).toMatch(/0\.50 +- +- +- +- +- +- +-$/)
    expect(lines.at(-1)).toBe('1 of 2 targets met')
  })
})

describe('the chart', () => {
  it('is well-formed and escapes texts', () => {
    const texts = textsOf(drawChart({ ...RESULT, commit: '<&">' }))
    expect(texts.join('\n')).toContain('insert 1,000, 100,000 rows')
    expect(texts.join('\n')).toContain('commit &lt;&amp;&quot;&gt;')
  })

  it('has colors for light and dark, and a dot for the CPU, except where the work is done by another process', () => {
    const svg = drawChart(RESULT)
    expect(svg).toContain('@media (prefers-color-scheme: dark)')
    expect([...svg.matchAll(/<circle class="cpu"/g)].length).toBe(1)
    const elsewhere: Entry = { ...FAST, storage: 'postgres' }
    expect([...drawChart({ ...RESULT, entries: [elsewhere] }).matchAll(/<circle class="cpu"/g)].length).toBe(0)
  })

  it.runIf(existsSync(latestResult()))('that is committed is that of the committed result', () => {
    const result = resultShape.parse(JSON.parse(readFileSync(latestResult(), 'utf8')))
    expect(readFileSync(new URL('latest.svg', latestResult()), 'utf8')).toBe(drawChart(result))
    expect(readFileSync(new URL('latest-growth.svg', latestResult()), 'utf8')).toBe(drawGrowth(result))
    expect(readFileSync(new URL('latest-overview.svg', latestResult()), 'utf8')).toBe(drawOverview(result))
  })

  it('groups entries by storage and leaves out a storage without entries', () => {
    const late = { ...FAST, benchmark: 'get 1' }
    const texts = textsOf(drawChart({ ...RESULT, entries: [FAST, HEAVY, late] })).map((text) => text.trim())
    const expected = ['SQLite', 'insert 1,000, 100,000 rows', 'get 1, 100,000 rows', 'PostgreSQL', 'bytes on disk, 1,000 rows']
    expect(texts.filter((text) => expected.includes(text))).toEqual(expected)
    expect(texts).not.toContain('In memory')
  })

  it('draws a longer bar the further an entry is past its target', () => {
    const widths = barsOf(
      drawChart({ ...RESULT, entries: [FAST, { ...FAST, ratio: 1 }, { ...FAST, ratio: 1000 }, UNTARGETED, HEAVY] }),
    )
    expect(widths.map(({ met }) => met)).toEqual([true, true, true, false])
    // The missed entry is the last one and has the shortest bar.
    const lengths = [3, 0, 1, 2].map((index) => at(widths, index).width)
    expect(lengths).toEqual(lengths.toSorted((left, right) => left - right))
    expect(new Set(lengths).size).toBe(4)
  })
})

describe('the chart of growth', () => {
  const POINTS = [10, 100, 1000].map(
    (rows, index): Entry => ({
      ...{ ...UNTARGETED, benchmark: 'growth: get & read', series: 'get & read' },
      ...{ rows, ratio: [1, 0.5, 0.001][index] ?? 1 },
    }),
  )

  it('has a panel per operation and a line per storage, whose points fall with the rate', () => {
    const points = [...POINTS, ...POINTS.map((point): Entry => ({ ...point, storage: 'memory', series: 'verify' }))]
    const svg = drawGrowth({ ...RESULT, entries: [...RESULT.entries, ...points] }) ?? ''
    expect(textsOf(svg).filter((text) => ['get &amp; read', 'verify', '10', '1k'].includes(text)).length).toBe(6)
    expect(linesIn(svg).map(({ storage }) => storage)).toEqual(['sqlite', 'memory'])
    for (const { places } of linesIn(svg)) {
      expect(places.map(([x]) => x)).toEqual(places.map(([x]) => x).toSorted((left, right) => left - right))
      expect(places.map(([, y]) => y)).toEqual(places.map(([, y]) => y).toSorted((left, right) => left - right))
      expect(new Set(places.map(([, y]) => y)).size).toBe(3)
    }
  })

  it('does not exist without entries of growth', () => {
    expect(drawGrowth(RESULT)).toBeUndefined()
  })
})

describe('the chart of records per second', () => {
  const read: Entry = { ...FAST, benchmark: 'get 1,000', figure: 300_000, baselineFigure: 400_000 }
  const alternative: Entry = { ...UNTARGETED, benchmark: 'insert 1,000, alternative', baseline: 'by hand', ratio: 10 }

  it('has a bar for plaintext, the vault and each alternative, as long as their rates', () => {
    const svg = drawOverview({ ...RESULT, entries: [FAST, read, alternative, HEAVY] }) ?? ''
    const bars = [...svg.matchAll(/<rect class="(plain|met|other)"[^>]* width="(\d+)"/g)].map(
      ([, kind, width]) => [kind, Number(width)] as const,
    )
    expect(bars.map(([kind]) => kind)).toEqual(['plain', 'met', 'other', 'plain', 'met'])
    const [plain, vault, other, , reading] = bars.map(([, width]) => width)
    expect(vault).toBe(Math.round((plain ?? 0) / 2))
    expect(other).toBe(Math.round((plain ?? 0) / 20))
    expect(reading).toBeGreaterThan(plain ?? 0)
    expect(textsOf(svg)).toEqual(expect.arrayContaining(['SQLite', 'by hand', '123k', '12k']))
  })

  it('does not exist without entries of these operations', () => {
    expect(drawOverview({ ...RESULT, entries: [UNTARGETED] })).toBeUndefined()
  })
})

describe('the sizes of a run', () => {
  const NONE = { smoke: false, quick: false, rows: undefined, mebibytes: undefined }

  it('grow by ten to a million in a full run, and are never above the limit', () => {
    expect(scaleOf(NONE).growth).toEqual([10_000, 100_000, 1_000_000])
    const capped = scaleOf({ ...NONE, rows: 2000 })
    expect(capped.growth).toEqual([20, 200, 2000])
    expect([capped.rows, capped.sizes.sqlite, capped.events]).toEqual([2000, [2000], [2000]])
    expect(scaleOf({ ...NONE, smoke: true }).growth).toEqual([200, 2000])
  })

  it('of a quick run are those that its targets name', () => {
    const { sizes, events } = scaleOf({ ...NONE, quick: true })
    expect([sizes.sqlite, events]).toEqual([[100_000], [100_000]])
  })
})

describe('the command line', () => {
  it('accepts every option', () => {
    const args = parseArguments(
      ['--only', 'insert', '--storage', 'sqlite', '--rows', '2000', '--json', 'x.json', '--smoke', '--quick'],
      ['insert'],
    )
    expect(args).toEqual({ only: 'insert', storage: 'sqlite', rows: 2000, json: 'x.json', smoke: true, quick: true })
    expect(isFullRun(args)).toBe(false)
    expect(isFullRun(parseArguments([], ['insert']))).toBe(true)
    for (const option of ['--smoke', '--quick']) expect(isFullRun(parseArguments([option], ['insert']))).toBe(false)
  })

  it('throws an error that names the invalid option', () => {
    expect(() => parseArguments(['--only', 'nothing'], ['insert'])).toThrow('--only')
    expect(() => parseArguments(['--rows', '0'], ['insert'])).toThrow('--rows')
    expect(() => parseArguments(['--storage', 'tape'], ['insert'])).toThrow('--storage')
    expect(() => parseArguments(['--fast'], ['insert'])).toThrow('--fast')
  })
})

function latestResult(): URL {
  return new URL('../../benchmarks/results/latest.json', import.meta.url)
}

function barsOf(svg: string): { readonly met: boolean; readonly width: number }[] {
  return [...svg.matchAll(/<rect class="(met|missed)"[^>]* width="(\d+)"/g)].map(([, kind, width]) => ({
    met: kind === 'met',
    width: Number(width),
  }))
}

function linesIn(svg: string): { readonly storage: string; readonly places: (readonly [x: number, y: number])[] }[] {
  return [...svg.matchAll(/<polyline class="(\w+)" points="([^"]*)"/g)].map(([, storage = '', points = '']) => ({
    storage,
    places: points.split(' ').map((place) => {
      const [x, y] = place.split(',').map(Number)
      return [x ?? Number.NaN, y ?? Number.NaN] as const
    }),
  }))
}

/** Returns the texts between tags. Throws if tags do not nest, an attribute is unquoted or duplicate, or a text is not escaped. */
function textsOf(xml: string): string[] {
  const open: string[] = []
  const texts: string[] = []
  const piece = /<(\/?)([a-z]+)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>|([^<]+)/gy
  let read = 0
  for (const [whole, closing, name = '', attributes = '', empty, text] of xml.matchAll(piece)) {
    read += whole.length
    if (text !== undefined) {
      if (/&(?!(amp|lt|gt|quot);)/.test(text)) throw new Error(`Not escaped: ${text}`)
      if (open.length === 0 && text.trim() !== '') throw new Error(`Outside the root element: ${text}`)
      texts.push(text)
      continue
    }
    const names = [...attributes.matchAll(/([\w:-]+)=/g)].map((match) => match[1])
    if (new Set(names).size !== names.length) throw new Error(`Duplicate attribute: ${whole}`)
    if (closing === '/' && open.pop() !== name) throw new Error(`Closed but not open: ${name}`)
    if (closing === '' && empty === '') open.push(name)
  }
  if (read !== xml.length || open.length > 0) throw new Error(`Not well-formed after ${xml.slice(Math.max(0, read - 80), read)}`)
  return texts
}
