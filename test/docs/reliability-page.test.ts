/** The table of laws in docs/reliability.md lists the laws of the soak, with their statements and figures. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { pageTable, readTable } from '../../scripts/soak-report.ts'
import { ALL_LAWS } from '../laws/all-laws.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/reliability.md'), 'utf8')

it('lists every law in order, with the figures of the code', () => {
  const recorded = readTable(page)
  expect(recorded.map(({ law }) => law)).toEqual(ALL_LAWS.map(({ name }) => name))
  expect(page).toContain(pageTable(recorded))
})

it('gives each law a last run without failures', () => {
  for (const { law, lastRun } of readTable(page)) {
    const [date, seed, figure, failures] = lastRun
    expect([law, date, seed, failures]).toEqual([
      law,
      expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/),
      expect.stringMatching(/^\S+$/),
      '0',
    ])
    expect(Number(figure?.replaceAll(',', ''))).toBeGreaterThan(0)
  }
})

it('names each law once', () => {
  expect(new Set(ALL_LAWS.map(({ name }) => name)).size).toBe(ALL_LAWS.length)
})
