/** Lets the examples import the package by its name without a build: `node --import ./scripts/resolve-sources.ts examples/quickstart.ts` */
import { registerHooks } from 'node:module'
import { ENTRY_POINTS } from './entry-points.ts'

const NAME = 'strongroom'

const sources = new Map(
  Object.entries(ENTRY_POINTS).map(([subpath, source]) => [
    `${NAME}${subpath.slice('.'.length)}`,
    new URL(`../${source}`, import.meta.url).href,
  ]),
)

registerHooks({ resolve: (specifier, context, nextResolve) => nextResolve(sources.get(specifier) ?? specifier, context) })
