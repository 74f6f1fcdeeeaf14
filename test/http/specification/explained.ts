/** What docs/http.md explains of the routes and members that the specification lacks. */
import { readFileSync } from 'node:fs'
import { LEGACY_TABLE_NAMES } from './legacy-endpoints.ts'
import type { Line } from './lines.ts'

/** One row of the page: routes, and what it explains of them. */
export interface Explanation {
  /** `every route`, or routes with their method; `{legacyTable}` stands for each legacy table. */
  readonly routes: readonly string[]
  /** `query limit`, `body records[].x`, `200 records[].valueType = NONE`, `status 404`. Empty: the whole route. */
  readonly about: readonly string[]
}

const HEADING = '## What the specification lacks'

/** Returns the rows of the page's section. */
export function explanations(): Explanation[] {
  const page = readFileSync(new URL('../../../docs/http.md', import.meta.url), 'utf8')
  const [, after = ''] = page.split(HEADING)
  const [section = ''] = after.split('\n## ')
  return section
    .split('\n')
    .filter((line) => /^\| (`|every route)/.test(line))
    .map((line) => {
      const [, routes = '', about = ''] = line.split('|')
      return { routes: spansOf(routes, 'every route'), about: spansOf(about, '') }
    })
}

function spansOf(cell: string, word: string): string[] {
  if (word !== '' && cell.trim() === word) return [word]
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span)
}

/** True if a row explains a line. */
export function isExplainedBy({ routes, about }: Explanation, line: Line): boolean {
  const route = line.route.replace(/^(\w+ \/v1\/vaults\/\{vaultID\}\/)([a-z_]+)/, (whole, start: string, table: string) =>
    LEGACY_TABLE_NAMES.includes(table) ? `${start}{legacyTable}` : whole,
  )
  if (!routes.includes('every route') && !routes.includes(route)) return false
  return about.length === 0 || about.some((span) => span === line.about || isWithin(line.about, span))
}

function isWithin(about: string, span: string): boolean {
  return ['.', '[', ' = '].some((next) => about.startsWith(`${span}${next}`))
}
