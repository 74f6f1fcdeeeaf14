/** The walk through the specification: what it says and the routes lack, and what the routes have and nothing explains. */

import type { OpenApiDocument } from '../../../src/http/description/openapi.ts'
import { createDocument } from '../../../src/http/description/openapi-document.ts'
import { parseOptions, type RouterOptions } from '../../../src/http/options.ts'
import type { Route } from '../../../src/http/router/route.ts'
import { createRoutes } from '../../../src/http/routes/routes.ts'
import { describedLines } from './described-lines.ts'
import { type Explanation, isExplainedBy } from './explained.ts'
import { type Line, without } from './lines.ts'
import { specifiedLines } from './specified-lines.ts'

/** The options of a handler without any. */
export const DEFAULT_OPTIONS: RouterOptions = parseOptions({ vaults: [], authenticate: [] })

/** Returns the document of the routes, or of some of them. */
export function documentOf(routes: readonly Route[] = createRoutes(DEFAULT_OPTIONS)): OpenApiDocument {
  return createDocument(DEFAULT_OPTIONS, routes)
}

const SPECIFIED = specifiedLines()

/** Returns the lines of the specification, or of some of its routes, that a document lacks. A member may be optional in a request where a page explains it. */
export function missingLines(
  document: OpenApiDocument,
  explained: readonly Explanation[],
  isAsked: (route: string) => boolean = () => true,
): Line[] {
  return without(
    SPECIFIED.filter(({ route }) => isAsked(route)),
    describedLines(document),
  ).filter((line) => !(line.says === 'required' && isRequest(line) && explained.some((row) => isExplainedBy(row, line))))
}

/** Returns the routes, members, words and statuses of a document that the specification lacks. */
export function ownLines(document: OpenApiDocument): Line[] {
  return without(describedLines(document), SPECIFIED).filter(
    (line) => line.says === 'exists' || line.says.startsWith('type ') || (line.says === 'required' && isRequest(line)),
  )
}

function isRequest({ about }: Line): boolean {
  return about.startsWith('query ') || about.startsWith('body ')
}
