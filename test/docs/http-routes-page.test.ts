/** docs/http-routes.md shows each route as it is. The test of the examples sends what it shows. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { ROUTES_PAGE, routesPage } from '../../scripts/write-routes.ts'
import { parseOptions } from '../../src/http/options.ts'
import { createRoutes } from '../../src/http/routes/routes.ts'

const page = readFileSync(ROUTES_PAGE, 'utf8')
const ROUTES = createRoutes(parseOptions({ vaults: [], authenticate: [], legacyTables: ['bank_accounts'] }))

it('docs/http-routes.md shows the routes as they are', () => {
  expect(page === routesPage(), 'docs/http-routes.md is out of date. Run: npm run routes').toBe(true)
})

it.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))(
  '%s has a request and a response',
  (name, route) => {
    const [, section = ''] = page.split(`### ${name}\n`)
    // The description and the reference page are too long to show.
    if (route.group === 'Description') expect(section).toContain(route.summary)
    else expect(section.split('\n### ')[0]).toMatch(/```http\n[A-Z]+ \/v[123]\/.*\n\n200\n.+\n```/s)
  },
)
