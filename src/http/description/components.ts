/** The schemas that several routes share: each is described once, under its title, and referred to elsewhere. */
import { VaultError } from '../../index.ts'
import { type JsonSchema, mapSchema } from './json-schema.ts'

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
