/** The table of states in docs/files.md, and its picture, have every status of a file. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { SCAN_STATES, scanStatusOf } from '../../src/core/files/scan-state.ts'

const TOP = new URL('../..', import.meta.url)
const STATUSES = SCAN_STATES.map((state) => scanStatusOf(state, true)).sort()

const read = (path: string): string => readFileSync(new URL(path, TOP), 'utf8')

it('docs/files.md has one row for each status', () => {
  const rows = [...read('docs/files.md').matchAll(/^\| `(SCAN_\w+)` \|/gm)].map((match) => match[1])
  expect(rows.sort()).toEqual(STATUSES)
})

it('docs/files.svg shows each status, and can be read where colors are dark', () => {
  const picture = read('docs/files.svg')
  expect([...new Set(picture.match(/SCAN_[A-Z_]+/g))].sort()).toEqual(STATUSES)
  expect(picture).toContain('@media (prefers-color-scheme: dark)')
})
