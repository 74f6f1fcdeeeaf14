/** JSON schemas of the shapes of requests and responses, as the API description has them, and those that several routes share. */
import * as z from 'zod'
import { VaultError } from '../../index.ts'

/** A schema of JSON Schema 2020-12: the part of it that shapes become. */
export interface JsonSchema {
  readonly $ref?: string
  readonly title?: string
  readonly description?: string
  readonly deprecated?: boolean
  readonly default?: unknown
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly format?: string
  readonly pattern?: string
  readonly contentMediaType?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: JsonSchema | boolean
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
}

/** Returns the schema of what a shape accepts (`input`) or of what it makes of it (`output`). */
export function toJsonSchema(shape: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const made: unknown = JSON.parse(JSON.stringify(z.toJSONSchema(shape, { io, unrepresentable: 'any' })))
  // Zod makes JSON Schema 2020-12, and the shapes of routes use the part of it that the type has.
  return mapSchema(made as JsonSchema, plain)
}

/** Returns a schema whose parts, and then itself, a function has replaced. */
export function mapSchema(schema: JsonSchema, replace: (schema: JsonSchema) => JsonSchema): JsonSchema {
  const map = (part: JsonSchema): JsonSchema => mapSchema(part, replace)
  const { properties, items, additionalProperties, anyOf, oneOf } = schema
  return replace({
    ...schema,
    ...(properties === undefined ? {} : { properties: mapMembers(properties, map) }),
    ...(items === undefined ? {} : { items: map(items) }),
    ...(typeof additionalProperties === 'object' ? { additionalProperties: map(additionalProperties) } : {}),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(map) }),
    ...(oneOf === undefined ? {} : { oneOf: oneOf.map(map) }),
  })
}

function mapMembers<From, To>(members: Readonly<Record<string, From>>, map: (member: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, map(member)]))
}

/** What zod adds and a description does not need. */
const NOISE: ReadonlySet<string> = new Set(['$schema', 'propertyNames', '~standard'])

/**
 * Leaves out what says nothing: a response can have more members in a later version, so none is excluded; and a format says more to people
 * than its pattern does.
 */
function plain(schema: JsonSchema): JsonSchema {
  const kept = Object.entries(schema).filter(
    ([name, value]) =>
      !NOISE.has(name) &&
      !(name === 'additionalProperties' && value === false) &&
      !(name === 'pattern' && schema.format === 'date-time'),
  )
  return Object.fromEntries(kept)
}

/** The shared schemas of a description. */
export interface Components {
  /** Returns a schema in which every part with a title is a reference to a shared schema. Throws `internal` if two schemas have one title. */
  share(schema: JsonSchema): JsonSchema
  /** The shared schemas by their titles, in the order of the alphabet. */
  schemas(): Readonly<Record<string, JsonSchema>>
}

/** Returns an empty set of shared schemas. */
export function createComponents(): Components {
  const known = new Map<string, JsonSchema>()
  return {
    share: (schema) => mapSchema(schema, (part) => shared(known, part)),
    schemas: () => Object.fromEntries([...known].sort(([one], [other]) => (one < other ? -1 : 1))),
  }
}

/** Returns the reference to a schema with a title. What a place says of it stays in that place. */
function shared(known: Map<string, JsonSchema>, schema: JsonSchema): JsonSchema {
  const { title, default: initial, ...definition } = schema
  if (title === undefined) return schema
  const first = known.get(title) ?? definition
  known.set(title, first)
  const { description, ...rest } = definition
  const { description: firstDescription, ...firstRest } = first
  if (JSON.stringify(rest) !== JSON.stringify(firstRest))
    throw new VaultError('internal', `Two different schemas have the title ${title}.`)
  return {
    $ref: `#/components/schemas/${title}`,
    ...(description === firstDescription || description === undefined ? {} : { description }),
    ...(initial === undefined ? {} : { default: initial }),
  }
}
