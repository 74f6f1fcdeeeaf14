/** What the API description says, as lines. */
import type { JsonSchema } from '../../../src/http/description/json-schema.ts'
import type { OpenApiContent, OpenApiDocument, OpenApiOperation } from '../../../src/http/description/openapi.ts'
import type { Line } from './lines.ts'

/** Returns what a document says of every operation. */
export function describedLines(document: OpenApiDocument): Line[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) =>
      operationLines(`${method.toUpperCase()} ${path}`, operation, document.components.schemas),
    ),
  )
}

type Shared = Readonly<Record<string, JsonSchema>>

function operationLines(route: string, operation: OpenApiOperation, shared: Shared): Line[] {
  const { deprecated, security, parameters, requestBody, responses } = operation
  const line = (about: string, says: string): Line => ({ route, about, says })
  const [type = 'application/json'] = Object.keys(requestBody?.content ?? {})
  return [
    line('', 'exists'),
    ...(security.some((scheme) => 'bearer' in scheme) ? [line('', 'takes a bearer token')] : []),
    ...(deprecated === true ? [line('', 'deprecated')] : []),
    ...(type === 'application/json' ? [] : [line('', `body ${type}`)]),
    ...Object.keys(responses).map((status) => line(`status ${status}`, 'exists')),
    ...parameters
      .filter((parameter) => parameter.in === 'query')
      .flatMap(({ name, schema, required }) => [
        ...(required ? [line(`query ${name}`, 'required')] : []),
        ...memberLines({ route, about: `query ${name}` }, schema, shared),
      ]),
    ...contentLines({ route, about: 'body' }, requestBody?.content, shared),
    ...Object.entries(responses).flatMap(([status, response]) =>
      '$ref' in response ? [] : contentLines({ route, about: status }, response.content, shared),
    ),
  ]
}

function contentLines(place: Place, content: OpenApiContent = {}, shared: Shared): Line[] {
  return Object.values(content).flatMap(({ schema }) => (schema === undefined ? [] : innerLines(place, schema, shared)))
}

type Place = Pick<Line, 'route' | 'about'>

/** Returns the lines of a member, and of those inside it. */
export function memberLines(place: Place, given: JsonSchema, shared: Shared): Line[] {
  const schema = resolved(given, shared)
  const { minimum, maximum, maxLength, format, enum: words = [] } = schema
  const sayings = [
    ...typesOf(schema).map((type) => `type ${type}`),
    ...(schema.default === undefined ? [] : [`default ${String(schema.default)}`]),
    ...(minimum === undefined || maximum === undefined ? [] : [`${minimum}..${maximum}`]),
    ...(maxLength === undefined ? [] : [`max ${maxLength}`]),
    ...(format === undefined ? [] : [format]),
    ...(schema.deprecated === true ? ['deprecated'] : []),
  ]
  return [
    ...sayings.map((says) => ({ ...place, says })),
    ...words.map((word) => ({ route: place.route, about: `${place.about} = ${String(word)}`, says: 'exists' })),
    ...innerLines(place, schema, shared),
  ]
}

/** The types of a member: of each alternative, where it has several. */
function typesOf({ type, anyOf = [] }: JsonSchema): readonly string[] {
  if (type !== undefined) return [type].flat()
  const types = anyOf.flatMap((one) => (typeof one.type === 'string' ? [one.type] : []))
  return types.length === 0 ? ['any'] : types
}

function innerLines({ route, about }: Place, given: JsonSchema, shared: Shared): Line[] {
  const { properties = {}, required = [], items, additionalProperties } = resolved(given, shared)
  const inside = (name: string): Place => ({ route, about: about.includes(' ') ? `${about}.${name}` : `${about} ${name}` })
  return [
    ...required.map((name) => ({ ...inside(name), says: 'required' })),
    ...Object.entries(properties).flatMap(([name, member]) => memberLines(inside(name), member, shared)),
    ...(items === undefined ? [] : memberLines({ route, about: `${about}[]` }, items, shared)),
    ...(typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0
      ? memberLines(inside('*'), additionalProperties, shared)
      : []),
  ]
}

function resolved({ $ref, ...beside }: JsonSchema, shared: Shared): JsonSchema {
  return $ref === undefined ? beside : { ...shared[$ref.replace('#/components/schemas/', '')], ...beside }
}
