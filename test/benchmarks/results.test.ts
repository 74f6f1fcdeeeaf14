/** What a run leaves behind: figures of a fixed shape, a table, and a picture any reader of SVG can open. */
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { isFullRun, parseArguments } from '../../benchmarks/arguments.ts'
import { drawChart } from '../../benchmarks/chart.ts'
import {
  type Entry,
  hasTarget,
  headroomOf,
  isMet,
  type Result,
  resultShape,
  type TargetedEntry,
} from '../../benchmarks/entries.ts'
import { describeCommit, describeMachine } from '../../benchmarks/machine.ts'
import { formatReport } from '../../benchmarks/report.ts'

const FAST: TargetedEntry = {
  bench: 'insert 1,000',
  storage: 'sqlite',
  rows: 100_000,
  medianOpsPerSecond: 123_456,
  floor: 'plaintext <rowid> & "prepared"',
  floorOpsPerSecond: 246_912,
  ratio: 0.5,
  target: 0.35,
}
const HEAVY: TargetedEntry = {
  bench: 'bytes on disk',
  storage: 'postgres',
  rows: 1000,
  medianOpsPerSecond: 320,
  floor: 'plaintext table',
  floorOpsPerSecond: 160,
  ratio: 2,
  target: 1.6,
  unit: 'bytes/record',
  lowerIsBetter: true,
}
/** Measured, and held to nothing. */
const TOLD: Entry = {
  bench: 'mint: transient',
  storage: 'sqlite',
  rows: 1000,
  medianOpsPerSecond: 10,
  floor: 'plaintext',
  floorOpsPerSecond: 20,
  ratio: 0.5,
}
const RESULT: Result = { machine: describeMachine(), commit: describeCommit(), entries: [FAST, HEAVY, TOLD] }

describe('figures', () => {
  test('of this machine and commit have the promised shape', () => {
    expect(resultShape.parse(JSON.parse(JSON.stringify(RESULT)))).toEqual(RESULT)
  })

  test('with a member nobody promised are refused, so that no host name slips in', () => {
    const named = { ...RESULT, machine: { ...RESULT.machine, host: 'somewhere' } }
    expect(resultShape.safeParse(named).success).toBe(false)
  })

  test.runIf(existsSync(latestResult()))('that are committed have the promised shape', () => {
    expect(resultShape.parse(JSON.parse(readFileSync(latestResult(), 'utf8'))).entries.length).toBeGreaterThan(0)
  })

  test('are met from above, or from below where less is better', () => {
    expect([FAST, HEAVY].map(isMet)).toEqual([true, false])
    expect(isMet({ ...FAST, ratio: 0.349 })).toBe(false)
    expect(isMet({ ...HEAVY, ratio: 1.6 })).toBe(true)
    expect([FAST, HEAVY].map(headroomOf)).toEqual([0.5 / 0.35, 0.8])
    expect([FAST, TOLD].map(hasTarget)).toEqual([true, false])
  })
})

describe('the table', () => {
  test('says for each entry what was measured, against what, and whether the target is met', () => {
    const lines = formatReport(RESULT).split('\n')
    expect(lines.find((line) => line.startsWith('insert 1,000'))).toMatch(
      /sqlite +100,000 +123k\/s .* 247k\/s +0\.50 +≥ 0\.35 +yes$/,
    )
    expect(lines.find((line) => line.startsWith('bytes on disk'))).toMatch(/postgres +1,000 +320 B .* 160 B +2\.00 +≤ 1\.60 +NO$/)
    expect(lines.find((line) => line.startsWith('mint: transient'))).toMatch(/0\.50 +- +-$/)
    expect(lines.at(-1)).toBe('1 of 2 targets met')
  })
})

describe('the picture', () => {
  test('is well-formed, with texts escaped', () => {
    const texts = textsOf(drawChart({ ...RESULT, commit: '<&">' }))
    expect(texts.join('\n')).toContain('insert 1,000, 100,000 rows')
    expect(texts.join('\n')).toContain('commit &lt;&amp;&quot;&gt;')
  })

  test('gathers the entries of a storage under its heading, and names no storage that has none', () => {
    const late = { ...FAST, bench: 'get 1' }
    const texts = textsOf(drawChart({ ...RESULT, entries: [FAST, HEAVY, late] })).map((text) => text.trim())
    const places = ['SQLite', 'insert 1,000, 100,000 rows', 'get 1, 100,000 rows', 'PostgreSQL', 'bytes on disk, 1,000 rows']
    expect(texts.filter((text) => places.includes(text))).toEqual(places)
    expect(texts).not.toContain('In memory')
  })

  test('draws a bar for each entry, longer the further it is past its target', () => {
    const widths = barsOf(drawChart({ ...RESULT, entries: [FAST, { ...FAST, ratio: 1 }, { ...FAST, ratio: 1000 }, TOLD, HEAVY] }))
    expect(widths.map(({ met }) => met)).toEqual([true, true, true, false])
    const [near = 0, far = 0, beyond = 0, missed = 0] = widths.map(({ width }) => width)
    expect([missed, near, far, beyond]).toEqual([missed, near, far, beyond].toSorted((left, right) => left - right))
    expect(new Set([missed, near, far, beyond]).size).toBe(4)
  })
})

describe('the command line', () => {
  test('takes what it says it takes', () => {
    const asked = parseArguments(
      ['--only', 'insert', '--storage', 'sqlite', '--rows', '2000', '--json', 'x.json', '--smoke'],
      ['insert'],
    )
    expect(asked).toEqual({ only: 'insert', storage: 'sqlite', rows: 2000, json: 'x.json', smoke: true })
    expect(isFullRun(asked)).toBe(false)
    expect(isFullRun(parseArguments([], ['insert']))).toBe(true)
  })

  test('refuses other words, naming the option', () => {
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

/** The texts between tags. Throws where tags do not nest, an attribute is not quoted or twice, or a text is not escaped. */
function textsOf(xml: string): string[] {
  const open: string[] = []
  const texts: string[] = []
  const piece = /<(\/?)([a-z]+)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>|([^<]+)/gy
  let at = 0
  for (const [whole, closing, name = '', attributes = '', empty, text] of xml.matchAll(piece)) {
    at += whole.length
    if (text !== undefined) {
      if (/&(?!(amp|lt|gt|quot);)/.test(text)) throw new Error(`not escaped: ${text}`)
      if (open.length === 0 && text.trim() !== '') throw new Error(`outside the picture: ${text}`)
      texts.push(text)
      continue
    }
    const names = [...attributes.matchAll(/([\w:-]+)=/g)].map((match) => match[1])
    if (new Set(names).size !== names.length) throw new Error(`an attribute twice: ${whole}`)
    if (closing === '/' && open.pop() !== name) throw new Error(`closed and not open: ${name}`)
    if (closing === '' && empty === '') open.push(name)
  }
  if (at !== xml.length || open.length > 0) throw new Error(`not well-formed after ${xml.slice(Math.max(0, at - 80), at)}`)
  return texts
}
