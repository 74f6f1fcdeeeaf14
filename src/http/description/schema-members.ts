/** The members of a schema as rows: each with its path, its type and its bounds. */
import type { JsonSchema } from './json-schema.ts'

/** A member of a body. */
export interface SchemaMember {
  /** `records[].fields`; `*` stands for any name. Empty for the body itself. */
  readonly path: string
  /** `string`, `array of strings`, or the words of an enum. */
  readonly type: string
  readonly isRequired: boolean
  readonly description: string
  /** `default false`, `at most 100 characters`. */
  readonly bounds: readonly string[]
}

/** The shared schemas by their titles. */
export type SharedSchemas = Readonly<Record<string, JsonSchema>>

/** Returns the members of a schema, and theirs, in order. */
export function membersOf(schema: JsonSchema, shared: SharedSchemas): SchemaMember[] {
  return innerMembers('', resolved(schema, shared), shared)
}

/** Returns a schema in place of a reference. What is said beside the reference comes first. */
export function resolved({ $ref, ...beside }: JsonSchema, shared: SharedSchemas): JsonSchema {
  if ($ref === undefined) return beside
  return { ...shared[$ref.slice($ref.lastIndexOf('/') + 1)], ...beside }
}

function innerMembers(path: string, schema: JsonSchema, shared: SharedSchemas): SchemaMember[] {
  const { properties = {}, required = [], items, additionalProperties, anyOf = [], oneOf = [] } = schema
  const dot = path === '' ? '' : '.'
  const members = Object.entries(properties).flatMap(([name, member]) =>
    memberAndInner(`${path}${dot}${name}`, { schema: member, isRequired: required.includes(name) }, shared),
  )
  const itemMembers = items === undefined ? [] : innerMembers(`${path}[]`, resolved(items, shared), shared)
  const anyName = typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0
  const values = anyName ? memberAndInner(`${path}${dot}*`, { schema: additionalProperties, isRequired: false }, shared) : []
  const choices = [...anyOf, ...oneOf].flatMap((choice) => innerMembers(path, resolved(choice, shared), shared))
  return [...members, ...itemMembers, ...values, ...choices]
}

function memberAndInner(
  path: string,
  { schema: given, isRequired }: { readonly schema: JsonSchema; readonly isRequired: boolean },
  shared: SharedSchemas,
): SchemaMember[] {
  const schema = resolved(given, shared)
  const { description = '' } = schema
  const member = { path, type: typeOf(schema, shared), isRequired, description, bounds: boundsOf(schema) }
  return [member, ...innerMembers(path, schema, shared)]
}

/** Returns what a schema accepts, in words. */
export function typeOf(schema: JsonSchema, shared: SharedSchemas): string {
  const { type, enum: words, const: only, items, format, anyOf, oneOf } = schema
  if (words !== undefined) return words.map(String).join(' | ')
  if (only !== undefined) return JSON.stringify(only)
  if (items !== undefined) return `array of ${typeOf(resolved(items, shared), shared)}`
  const choices = anyOf ?? oneOf
  if (choices !== undefined) return choices.map((choice) => typeOf(resolved(choice, shared), shared)).join(' or ')
  const text = typeof type === 'string' ? type : (type?.join(' or ') ?? 'any value')
  return format === undefined ? text : `${text} (${format})`
}

/** Returns the default and the bounds of a schema, in words. */
export function boundsOf(schema: JsonSchema): string[] {
  const { default: initial, minimum, maximum, minLength, maxLength, minItems, maxItems, pattern, deprecated } = schema
  return [
    ...(deprecated === true ? ['deprecated'] : []),
    ...(initial === undefined ? [] : [`default ${typeof initial === 'string' ? initial : JSON.stringify(initial)}`]),
    ...range(minimum, maximum, ''),
    ...range(minLength, maxLength, ' characters'),
    ...range(minItems, maxItems, ' entries'),
    ...(pattern === undefined ? [] : [`as ${pattern}`]),
  ]
}

/** Zod gives integers the bounds of a double, which mean nothing to a reader. */
function range(least: number | undefined, most: number | undefined, unit: string): string[] {
  const from = least === undefined || least === Number.MIN_SAFE_INTEGER ? undefined : least
  const to = most === undefined || most === Number.MAX_SAFE_INTEGER ? undefined : most
  if (from !== undefined && to !== undefined) return [`${from} to ${to}${unit}`]
  if (to !== undefined) return [`at most ${to}${unit}`]
  return from === undefined ? [] : [`at least ${from}${unit}`]
}
