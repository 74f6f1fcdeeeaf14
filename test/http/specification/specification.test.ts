/** The walk through the specification: what it lists is in the routes, and what the routes have beside it is explained in docs/http.md. */
import { describe, expect, it } from 'vitest'
import type { OpenApiDocument } from '../../../src/http/description/openapi.ts'
import { membersOf } from '../../../src/http/description/schema-members.ts'
import type { Route } from '../../../src/http/router/route.ts'
import { createRoutes } from '../../../src/http/routes/routes.ts'
import { memberLines } from './described-lines.ts'
import { ENVELOPE, SPECIFIED_ENDPOINTS, SPECIFIED_LIMITS } from './endpoints.ts'
import { explanations, isExplainedBy } from './explained.ts'
import { without as lacking, textOf } from './lines.ts'
import { memberLines as specifiedMembers } from './specified-lines.ts'
import { DEFAULT_OPTIONS, documentOf, missingLines, ownLines } from './walk.ts'

const ROUTES = createRoutes(DEFAULT_OPTIONS)
const EXPLAINED = explanations()

function missing(document: OpenApiDocument): string[] {
  return missingLines(document, EXPLAINED).map(textOf)
}

function unexplained(document: OpenApiDocument): string[] {
  return ownLines(document)
    .filter((line) => !EXPLAINED.some((row) => isExplainedBy(row, line)))
    .map(textOf)
}

describe('the specification', () => {
  it('has nothing that the routes lack', () => {
    expect(SPECIFIED_ENDPOINTS).toHaveLength(62)
    expect(missing(documentOf())).toEqual([])
  })

  it('lacks nothing of the routes that docs/http.md does not explain', () => {
    expect(unexplained(documentOf())).toEqual([])
  })

  it('has an envelope of errors that the description has, with its bounds', () => {
    const { schemas } = documentOf().components
    const described = memberLines({ route: '', about: 'body' }, schemas.ErrorEnvelope ?? {}, schemas)
    expect(lacking(specifiedMembers('', 'body', ENVELOPE), described).map(textOf)).toEqual([])
  })

  it('has limits that the description states', () => {
    const stated = new Map(documentOf()['x-limits'].map(({ limit, value }) => [limit, value]))
    for (const [limit, value] of Object.entries(SPECIFIED_LIMITS)) expect(stated.get(limit), limit).toBe(value)
  })
})

describe('docs/http.md', () => {
  it('explains nothing that does not exist', () => {
    const lines = [...ownLines(documentOf()), ...missingLines(documentOf(), [])]
    const stale = EXPLAINED.filter((row) => !lines.some((line) => isExplainedBy(row, line)))
    expect(stale).toEqual([])
  })
})

describe('the walk fails', () => {
  it.each(ROUTES.filter(({ isOwn }) => isOwn !== true).map((route) => [`${route.method} ${route.path}`, route] as const))(
    'without %s',
    (name, removed) => {
      expect(missing(documentOf(ROUTES.filter((route) => route !== removed)))).toContain(`${name} | exists`)
    },
  )

  it('without any one member of a query', () => {
    for (const route of ROUTES) {
      const own = ownLines(documentOf([route])).map(textOf)
      for (const member of Object.keys(route.query ?? {})) {
        const { [member]: _, ...query } = route.query ?? {}
        const about = `${nameOf(route)} | query ${member} |`
        const isSpecified = !own.some((line) => line.startsWith(about))
        expect(
          missingFrom({ ...route, query }).some((line) => line.startsWith(about)),
          about,
        ).toBe(isSpecified)
      }
    }
  })

  it('without any one status', () => {
    for (const route of ROUTES.filter(({ group, isOwn }) => isOwn !== true && group !== 'Legacy tokens')) {
      for (const status of route.statuses) {
        const statuses = route.statuses.filter((other) => other !== status)
        expect(missingFrom({ ...route, statuses })).toEqual([`${nameOf(route)} | status ${status} | exists`])
      }
    }
  })

  it('without any one member or word of a body', () => {
    const routes = ROUTES.filter(({ group, path }) => group !== 'Legacy records' || path.includes('/cards'))
    const isAsked = (name: string) => routes.some((route) => nameOf(route) === name)
    const whole = documentOf(routes)
    const text = JSON.stringify(whole)
    const own = ownLines(whole).length
    const paths = removable(whole)
    for (const path of paths) {
      // The document without one part is still a document.
      const changed = without(text, path) as OpenApiDocument
      // What is removed was in the specification, or was our own.
      const isSeen = missingLines(changed, EXPLAINED, isAsked).length > 0 || ownLines(changed).length < own
      expect(isSeen, path.join('.')).toBe(true)
    }
    expect(paths.length).toBeGreaterThan(200)
  })

  it('with a route, a member, a word or a status that nothing explains', () => {
    const [route] = ROUTES
    if (route === undefined) throw new Error('No route.')
    const other = { ...route, path: '/v1/other', name: 'other' }
    expect(unexplained(documentOf([...ROUTES, other]))).toContain('GET /v1/other | exists')
    const { limit } = route.query ?? {}
    if (limit === undefined) throw new Error('No member.')
    expect(unexplained(documentOf([{ ...route, query: { ...route.query, extra: limit } }]))).toEqual([
      'GET /v1/audit/events | query extra | type string',
    ])
    expect(unexplained(documentOf([{ ...route, statuses: [...route.statuses, 422] }]))).toEqual([
      'GET /v1/audit/events | status 422 | exists',
    ])
  })
})

function nameOf({ method, path }: Route): string {
  return `${method} ${path}`
}

/** Returns what the specification says of a route and its description lacks. */
function missingFrom(route: Route): string[] {
  return missingLines(documentOf([route]), EXPLAINED, (name) => name === nameOf(route)).map(textOf)
}

type Path = readonly string[]

/** Returns the paths of every member, and of every word of an enum, in bodies and shared schemas. */
function removable(document: OpenApiDocument): Path[] {
  const paths: Path[] = []
  const visit = (value: unknown, path: Path): void => {
    if (typeof value !== 'object' || value === null || path.includes('example')) return
    const parent = path.at(-1)
    for (const [name, member] of Object.entries(value)) {
      if (parent === 'properties' || parent === 'enum') paths.push([...path, name])
      visit(member, [...path, name])
    }
  }
  visit(document.paths, ['paths'])
  const { ErrorEnvelope: _, ErrorDetail: __, ErrorCode: ___, ...schemas } = document.components.schemas
  visit(schemas, ['components', 'schemas'])
  return paths
}

/** Returns a document, from its text, without one part. */
function without(text: string, path: Path): unknown {
  const document: unknown = JSON.parse(text)
  let place = document
  for (const name of path.slice(0, -1)) place = typeof place === 'object' && place !== null ? Reflect.get(place, name) : undefined
  const name = path.at(-1) ?? ''
  if (Array.isArray(place)) place.splice(Number(name), 1)
  else if (typeof place === 'object' && place !== null) Reflect.deleteProperty(place, name)
  return document
}

describe('the description', () => {
  it('says what every member means', () => {
    const document = documentOf()
    const { schemas } = document.components
    const silent = Object.values(document.paths)
      .flatMap((operations) => Object.values(operations))
      .flatMap(({ operationId, parameters, requestBody, responses }) => {
        const bodies = [requestBody, ...Object.values(responses)].flatMap((body) =>
          body !== undefined && 'content' in body ? Object.values(body.content ?? {}) : [],
        )
        const members = bodies.flatMap(({ schema }) => (schema === undefined ? [] : membersOf(schema, schemas)))
        return [
          ...parameters.filter(({ description }) => description === '').map(({ name }) => `${operationId} ${name}`),
          ...members.filter(({ description }) => description === '').map(({ path }) => `${operationId} ${path}`),
        ]
      })
    expect(silent).toEqual([])
  })

  it('gives every route a name of its own and an example', () => {
    const names = ROUTES.map(({ name }) => name)
    expect(names).not.toContain(undefined)
    expect(new Set(names).size).toBe(ROUTES.length)
    expect(ROUTES.filter(({ example, group }) => example === undefined && group !== 'Description')).toEqual([])
  })
})
