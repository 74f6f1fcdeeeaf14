/** Writes docs/http-routes.md, each route with a request and its response, from the table of routes: npm run routes */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { layoutJson } from '../examples/layout-json.ts'
import { LEGACY_TABLES } from '../src/http/index.ts'
import { parseOptions } from '../src/http/options.ts'
import type { Route } from '../src/http/router/route.ts'
import { EXAMPLE } from '../src/http/routes/examples.ts'
import { createRoutes } from '../src/http/routes/routes.ts'

/** The committed page. */
export const ROUTES_PAGE = join(import.meta.dirname, '../docs/http-routes.md')

const WIDTH = 110

/** The routes of other legacy tables are those of the first. */
const [SHOWN_TABLE] = LEGACY_TABLES

/** Returns the text of the page for the routes as they are now, with the default options. */
export function routesPage(): string {
  const routes = createRoutes(parseOptions({ vaults: [], authenticate: [] })).filter(isShown)
  const groups = [...new Set(routes.map(({ group }) => group))]
  const sections = groups.map((group) => {
    const note = group === 'Legacy records' ? `${LEGACY_NOTE}\n\n` : ''
    return `## ${group}\n\n${note}${routes
      .filter((route) => route.group === group)
      .map(describe)
      .join('\n')}`
  })
  return `${HEAD}\n${sections.join('\n')}`
}

function isShown({ path }: Route): boolean {
  return !LEGACY_TABLES.some((table) => table !== SHOWN_TABLE && path.split('/').includes(table))
}

function describe(route: Route): string {
  const { method, path, summary, description, isDeprecated, statuses } = route
  const notes = [summary, ...(isDeprecated === true ? ['Deprecated.'] : []), ...(description === undefined ? [] : [description])]
  const errors = `Errors: ${statuses.join(', ')}.`
  return `### ${method} ${path}\n\n${[...notes, errors].join(' ')}\n${example(route)}`
}

function example({ method, path, bodyType, responseType, example: given }: Route): string {
  if (given === undefined) return ''
  const values: Readonly<Record<string, string>> = { ...given.params, vaultID: EXAMPLE.vaultID }
  const filled = path.replace(/\{(\w+)\}/g, (_whole, name: string) => values[name] ?? '')
  const body =
    bodyType === 'application/octet-stream'
      ? ['(the bytes of the file)']
      : given.body === undefined
        ? []
        : partsOf(given.body, bodyType)
  const request = [`${method} ${filled}${given.query === undefined ? '' : `?${given.query}`}`, ...body]
  const response = responseType === undefined ? layoutJson(given.response, WIDTH) : ['(the bytes of the file)']
  return `\n\`\`\`http\n${request.join('\n')}\n\n200\n${response.join('\n')}\n\`\`\`\n`
}

function partsOf(body: unknown, type: Route['bodyType']): string[] {
  if (type !== 'multipart/form-data' || typeof body !== 'object' || body === null) return layoutJson(body, WIDTH)
  return ['(multipart/form-data)', ...Object.entries(body).map(([key, part]) => `${key}: ${String(part)}`)]
}

const HEAD = `# Every route

Written by \`npm run routes\` from the table of routes; do not edit it. A test sends each request over a socket, and fails if its response is not the one
here. Ids, tokens, tickets and times differ from vault to vault, and so does the host in URLs. The table \`${EXAMPLE.table}\` of the example has the columns
\`name\`, \`email\`, \`country\` and \`photo\`. [HTTP](http.md) says how to serve these routes, and what they have in common. A running server describes them
itself, at \`/reference\` and \`/openapi.json\`.
`

const LEGACY_NOTE = `The tables ${LEGACY_TABLES.map((table) => `\`${table}\``).join(', ')} have these routes (option \`legacyTables\`). They are shown for \`${SHOWN_TABLE}\`. Any other
table has those of [Records](#records).`

if (process.argv[1] === import.meta.filename) writeFileSync(ROUTES_PAGE, routesPage())
