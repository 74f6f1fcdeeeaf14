/** What the specification says, as lines. */
import { SPECIFIED_ENDPOINTS } from './endpoints.ts'
import { LEGACY_TABLE_NAMES } from './legacy-endpoints.ts'
import type { Line } from './lines.ts'
import { type Members, type SpecifiedEndpoint, TABLE } from './specified-members.ts'

/** Returns what the specification says of every endpoint. The path of a legacy route is also one of any table, so both sets of lines apply. */
export function specifiedLines(): Line[] {
  return SPECIFIED_ENDPOINTS.flatMap((endpoint) => {
    const general = endpoint.errors === undefined ? generalEndpoint(endpoint) : undefined
    if (general === undefined) return linesOf(endpoint)
    return [...linesOf({ ...general, path: endpoint.path }), ...linesOf(endpoint)]
  })
}

/** Returns the endpoint of any table whose path has the legacy route as an instance. */
function generalEndpoint({ method, path }: SpecifiedEndpoint): SpecifiedEndpoint | undefined {
  const [, table = '', rest = ''] = /^\/v1\/vaults\/\{vaultID\}\/([a-z_]+)(.*)$/.exec(path) ?? []
  if (!LEGACY_TABLE_NAMES.includes(table)) return undefined
  return SPECIFIED_ENDPOINTS.find((other) => other.method === method && other.path === `${TABLE}${rest}`)
}

function linesOf({ method, path, isDeprecated, query = {}, bodyType, body, responses, errors = [] }: SpecifiedEndpoint): Line[] {
  const route = `${method} ${path}`
  const line = (about: string, says: string): Line => ({ route, about, says })
  return [
    line('', 'exists'),
    line('', 'takes a bearer token'),
    ...(isDeprecated === true ? [line('', 'deprecated')] : []),
    ...(bodyType === undefined ? [] : [line('', `body ${bodyType}`)]),
    ...[...Object.keys(responses), ...errors].map((status) => line(`status ${status}`, 'exists')),
    ...memberLines(route, 'query', query),
    ...memberLines(route, 'body', body ?? {}),
    ...Object.entries(responses).flatMap(([status, members]) => memberLines(route, status, members)),
  ]
}

/** Returns the lines of members from their notations. */
export function memberLines(route: string, place: string, members: Members): Line[] {
  return Object.entries(members).flatMap(([path, notation]) => {
    const [type = '', ...rest] = notation.split(' ')
    const about = `${place} ${path}`
    const values = type === type.toLowerCase() && !type.includes('|') ? [] : type.split('|')
    return [
      { route, about, says: `type ${values.length > 0 ? 'string' : type}` },
      ...values.map((value) => ({ route, about: `${about} = ${value}`, says: 'exists' })),
      ...sayings(rest).map((says) => ({ route, about, says })),
    ]
  })
}

function sayings(words: readonly string[]): string[] {
  const said: string[] = []
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    if (word === 'default' || word === 'max') {
      at += 1
      said.push(`${word} ${words[at]}`)
    } else said.push(word)
  }
  return said
}
