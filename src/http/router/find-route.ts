/** From the target of a request to its route: fixed segments of a path come before parameters, and HEAD has the routes of GET. */
import { VaultError } from '../../index.ts'
import { decodePath, parseQuery } from '../body/parse-query.ts'
import type { QueryTexts } from './request-shape.ts'
import type { Route } from './route.ts'

/** A route and the decoded parameters of a path. */
export interface FoundRoute {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
}

/** Finds the route of a method and a path without its query. A slash at the end of the path changes nothing. Throws `not_found` for an unknown path, `unsupported` for another method, `invalid_request` for a path that cannot be decoded. */
export type FindRoute = (method: string, path: string) => FoundRoute

/** One segment of the paths of some routes. */
interface Node {
  readonly fixed: Map<string, Node>
  parameter: Node | undefined
  readonly routes: Map<string, KnownRoute>
}

/** A route, and the names of the parameters of its path by their positions. */
interface KnownRoute {
  readonly route: Route
  readonly parameters: readonly (readonly [name: string, position: number])[]
}

/** A path that is its own decoded form: visible characters, none of them a percent sign. */
const PLAIN_PATH = /^[!-$&-~]*$/

/** Returns the function that finds one of these routes. Throws `internal` if two of them have one method and path. */
export function createRouteFinder(routes: readonly Route[]): FindRoute {
  const root = createNode()
  for (const route of routes) add(root, route)
  return (method, path) => {
    const received = segmentsOf(path)
    if (received.length > 1 && received.at(-1) === '') received.pop()
    const segments = PLAIN_PATH.test(path) ? received : received.map(decodePath)
    const found = find(root, segments, 0, method === 'HEAD' ? 'GET' : method)
    if (found !== undefined) return { route: found.route, params: paramsOf(found, segments) }
    if (isKnown(root, segments, 0))
      throw new VaultError('unsupported', 'This route does not have this method. Use one that it has.')
    throw new VaultError('not_found', 'This route does not exist. Check the path.')
  }
}

function createNode(): Node {
  return { fixed: new Map(), parameter: undefined, routes: new Map() }
}

function add(root: Node, route: Route): void {
  let node = root
  const parameters: [string, number][] = []
  for (const [position, segment] of segmentsOf(route.path).entries()) {
    if (isParameter(segment)) {
      parameters.push([segment.slice(1, -1), position])
      node.parameter ??= createNode()
      node = node.parameter
    } else {
      const next = node.fixed.get(segment) ?? createNode()
      node.fixed.set(segment, next)
      node = next
    }
  }
  if (node.routes.has(route.method)) throw new VaultError('internal', `Two routes have the path ${route.method} ${route.path}.`)
  node.routes.set(route.method, { route, parameters })
}

/** Returns the route of the method. A fixed segment without it does not hide a parameter that has it. */
function find(node: Node, segments: readonly string[], from: number, method: string): KnownRoute | undefined {
  const segment = segments[from]
  if (segment === undefined) return node.routes.get(method)
  // The hash of a segment is computed for the look-up: it is not worth it where only a parameter can be.
  const fixed = node.fixed.size === 0 ? undefined : node.fixed.get(segment)
  const found = fixed === undefined ? undefined : find(fixed, segments, from + 1, method)
  if (found !== undefined || node.parameter === undefined || segment === '') return found
  return find(node.parameter, segments, from + 1, method)
}

function isKnown(node: Node, segments: readonly string[], from: number): boolean {
  const segment = segments[from]
  if (segment === undefined) return node.routes.size > 0
  const fixed = node.fixed.get(segment)
  if (fixed !== undefined && isKnown(fixed, segments, from + 1)) return true
  return segment !== '' && node.parameter !== undefined && isKnown(node.parameter, segments, from + 1)
}

/** Returns what follows each slash: the segments of a path, which begins with one. */
function segmentsOf(path: string): string[] {
  const segments: string[] = []
  let slash = path.indexOf('/')
  while (slash >= 0) {
    const next = path.indexOf('/', slash + 1)
    segments.push(next < 0 ? path.slice(slash + 1) : path.slice(slash + 1, next))
    slash = next
  }
  return segments
}

function isParameter(segment: string): boolean {
  return segment.startsWith('{')
}

function paramsOf({ parameters }: KnownRoute, segments: readonly string[]): Readonly<Record<string, string>> {
  const params: Record<string, string> = {}
  for (const [name, position] of parameters) params[name] = segments[position] ?? ''
  return params
}

/** The parts of a target. */
export interface Target {
  /** Percent-encoded, under the mount point, beginning with "/". */
  readonly path: string
  /** Returns the decoded query. Throws `invalid_request`. */
  query(): QueryTexts
}

/** Returns the parts of a target. A framework can have taken the mount point off it. */
export function splitTarget(target: string, basePath: string): Target {
  const end = target.indexOf('?')
  const whole = end < 0 ? target : target.slice(0, end)
  const text = end < 0 ? '' : target.slice(end + 1)
  const isUnder = basePath === '' || (whole.startsWith(basePath) && whole.charAt(basePath.length) === '/')
  return { path: isUnder ? whole.slice(basePath.length) : whole, query: () => parseQuery(text) }
}
