/** The path of the console: names of tables and ids of records, and nothing else. */
import { CONSOLE_URL } from './places.ts'
import { createStore } from './store.ts'

/** The decoded segments after `/console`, such as `['tables', 'customers']`. */
export type Path = readonly string[]

/** What a page is given. */
export interface PageProps {
  /** The segments after the name of the page: `['customers', 'id']` for `/console/tables/customers/id`. */
  readonly path: Path
}

/** The path that is shown. */
export const path = createStore<Path>(readPath())

/** Returns the address of a path. */
export function hrefOf(to: Path): string {
  return `${CONSOLE_URL.pathname}${to.map(encodeURIComponent).join('/')}`
}

/** Opens a path. The one that is shown is not added to the history again. */
export function go(to: Path): void {
  if (hrefOf(to) === hrefOf(path.get())) return
  history.pushState(null, '', hrefOf(to))
  path.set(to)
}

/** Opens a path in place of the one that is shown. */
export function replace(to: Path): void {
  history.replaceState(null, '', hrefOf(to))
  path.set(to)
}

/** Goes to the start, when the session has ended. */
export function leaveAll(): void {
  replace([])
}

function readPath(): Path {
  const { pathname } = location
  const own = pathname.startsWith(CONSOLE_URL.pathname) ? pathname.slice(CONSOLE_URL.pathname.length) : ''
  return own.split('/').flatMap((segment) => (segment === '' ? [] : [decoded(segment)]))
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

addEventListener('popstate', () => path.set(readPath()))
