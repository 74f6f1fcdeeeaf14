/** Splits the target of a request: the path under the mount point, and the query. */
import { parseQuery } from '../body/parse-query.ts'
import type { QueryTexts } from './query-members.ts'

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
