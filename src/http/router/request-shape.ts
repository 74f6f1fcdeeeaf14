/** Reads queries and bodies by their shapes, which the API description shows too, and says what is wrong where, in the names of the wire. */
import * as z from 'zod'
import { inWords } from '../../core/util/lists.ts'
import { VaultError } from '../../index.ts'

/** A member of a query. */
export interface QueryMember<T> {
  readonly description: string
  /** Its shape in the API description. */
  readonly schema: z.ZodType
  /** True if the operation refuses a query without it. */
  readonly isRequired?: boolean
  /** Returns its value; undefined for a blank one, which is the same as an absent one. `all` has the other members too. Throws `invalid_request`. */
  read(texts: readonly string[], name: string, all: QueryTexts): T | undefined
}

/** The members of a query by their names. */
export type QueryShape = Readonly<Record<string, QueryMember<unknown>>>

/** The values of the members of a query. */
export type QueryOf<Q extends QueryShape> = {
  readonly [Name in keyof Q]: Q[Name] extends QueryMember<infer T> ? T | undefined : never
}

/** The texts of a query by the names of its members, in order. */
export type QueryTexts = ReadonlyMap<string, readonly string[]>

/**
 * Returns the values of the members of a query. Throws `invalid_request`, also for a member that the shape does not have: ignored, a filter
 * that is misspelled would widen what is read; and `out_of_range`.
 */
export function readQuery<Q extends QueryShape>(shape: Q, texts: QueryTexts): QueryOf<Q> {
  // Most requests have no query: then every member is absent, which each may be.
  if (texts.size === 0) return {} as QueryOf<Q>
  assertKnown(shape, texts)
  const values: [string, unknown][] = []
  for (const [name, member] of Object.entries(shape)) {
    const given = texts.get(name)
    if (given !== undefined) values.push([name, member.read(given, name, texts)])
  }
  // Each member returned the type that its shape declares.
  return Object.fromEntries(values) as QueryOf<Q>
}

/** Throws `invalid_request` for an unknown member. It is named by its position, because its name can be a value. */
function assertKnown(shape: QueryShape, texts: QueryTexts): void {
  for (const [index, given] of [...texts.keys()].entries()) {
    if (Object.hasOwn(shape, given)) continue
    // A list as some clients write it by default.
    const name = given.replace(/\[\d*\]$/, '')
    if (Object.hasOwn(shape, name)) throw invalid(`${name} has brackets. Repeat it without them for each item.`)
    const known = Object.keys(shape)
    const hint = known.length === 0 ? 'This route has none' : `Use only ${inWords(known)}`
    throw invalid(`Member ${index + 1} of the query string is unknown. ${hint}.`)
  }
}

/** A text. Its bounds are described here and checked by the vault. */
export function text(
  description: string,
  { maxLength, ...rest }: { readonly maxLength?: number; readonly isRequired?: true } = {},
): QueryMember<string> {
  const schema = maxLength === undefined ? z.string() : z.string().max(maxLength)
  return { description, schema, ...rest, read: (texts, name) => single(texts, name) }
}

/** True or false, where an absent one is false. */
export function flag(description: string): QueryMember<boolean> {
  return {
    description,
    schema: z.boolean().meta({ default: false }),
    read(texts, name) {
      const given = single(texts, name)
      if (given === undefined) return undefined
      if (given !== 'true' && given !== 'false') throw invalid(`${name} must be true or false.`)
      return given === 'true'
    },
  }
}

/** One of some words. The API description shares the schema of words with a title. */
export function choice<const Choice extends string>(
  description: string,
  choices: readonly Choice[],
  described: { readonly initial?: Choice; readonly title?: string } = {},
): QueryMember<Choice> {
  const { initial, title } = described
  return {
    description,
    schema: z.enum(choices).meta({
      ...(title === undefined ? {} : { title }),
      ...(initial === undefined ? {} : { default: initial }),
    }),
    read(texts, name) {
      const given = single(texts, name)
      if (given === undefined) return undefined
      const known = choices.find((word) => word === given)
      if (known === undefined) throw invalid(`${name} must be ${inWords(choices)}.`)
      return known
    },
  }
}

/** A whole number from the first to the second one, by default the third; as text, as the specification has it: digits only. */
export function integer(description: string, [min, max, initial]: readonly [number, number, number]): QueryMember<number> {
  return {
    description,
    schema: z
      .string()
      .regex(/^\d+$/)
      .meta({ format: 'int64', default: String(initial) }),
    read(texts, name) {
      const given = single(texts, name)
      if (given === undefined) return undefined
      const value = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN
      if (value >= min && value <= max) return value
      throw new VaultError('out_of_range', `${name} must be an integer from ${min} to ${max}.`)
    },
  }
}

/** A list: the member is repeated for each item. Blank items are left out. */
export function list(description: string): QueryMember<readonly string[]> {
  return {
    description,
    schema: z.array(z.string()),
    read(texts) {
      const given = texts.filter((item) => item !== '')
      return given.length === 0 ? undefined : given
    },
  }
}

/** A list whose items can be blank. */
export function values(description: string): QueryMember<readonly string[]> {
  return { description, schema: z.array(z.string()), read: (texts) => texts }
}

/** Returns the one text of a member. Some clients repeat it for each item of a list beside it. */
function single([first, ...others]: readonly string[], name: string): string | undefined {
  if (others.some((other) => other !== first)) throw invalid(`${name} must be given once, or with one value.`)
  return first === '' ? undefined : first
}

function invalid(sentence: string): VaultError {
  return new VaultError('invalid_request', sentence)
}

/** Returns a member whose name the host chose, for a shape whose other members have types. Its value is read by `namedList`. */
export function named(name: string, member: QueryMember<unknown>): Record<never, never> {
  return { [name]: member }
}

/** Returns the list of a member whose name the host chose. */
export function namedList(texts: QueryTexts, name: string): readonly string[] | undefined {
  return list('').read(texts.get(name) ?? [], name, texts)
}

/** Returns what the shape makes of a body. Unknown members are ignored, and optional ones that are null or blank are absent. Throws `invalid_request` that names the first member that is wrong, never a value. */
export function parseShape<Shape extends z.ZodType>(shape: Shape, given: unknown): z.output<Shape> {
  const parsed = shape.safeParse(given)
  if (parsed.success) return parsed.data
  // Only a body that is refused otherwise costs a second look.
  const present = withoutBlanks(shape, given)
  const again = shape.safeParse(present)
  if (again.success) return again.data
  const [issue] = again.error.issues
  throw new VaultError('invalid_request', issue === undefined ? 'The body is invalid.' : sentenceOf(issue, present))
}

/** Returns a value without the optional members of its shape that are null or blank. What is no member of a shape stays as it is. */
function withoutBlanks(shape: unknown, given: unknown): unknown {
  if (shape instanceof z.ZodOptional) return withoutBlanks(shape.unwrap(), given)
  if (shape instanceof z.ZodArray && Array.isArray(given)) return given.map((item) => withoutBlanks(shape.element, item))
  if (!(shape instanceof z.ZodObject) || typeof given !== 'object' || given === null || Array.isArray(given)) return given
  const present = Object.entries(shape.shape).filter(([name, member]) => {
    const value: unknown = Object.hasOwn(given, name) ? Reflect.get(given, name) : undefined
    return value !== undefined && !(member instanceof z.ZodOptional && (value === null || value === ''))
  })
  return Object.fromEntries(present.map(([name, member]) => [name, withoutBlanks(member, Reflect.get(given, name))]))
}

function sentenceOf(issue: z.core.$ZodIssue, given: unknown): string {
  const place = placeOf(issue.path)
  if (issue.path.length > 0 && valueAt(given, issue.path) === undefined) return `${place} is required.`
  return `${place} ${expectation(issue)}.`
}

/** Returns `records[2].fields`, or "The body". Paths consist of members of the shape and of positions, because shapes never look into records. */
function placeOf(path: readonly PropertyKey[]): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')
  return text === '' ? 'The body' : text.replace(/^\./, '')
}

function valueAt(given: unknown, path: readonly PropertyKey[]): unknown {
  let value = given
  for (const part of path) value = typeof value === 'object' && value !== null ? Reflect.get(value, part) : undefined
  return value
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'must be a string',
  boolean: 'must be true or false',
  number: 'must be a number',
  array: 'must be an array',
  object: 'must be an object',
}

function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? 'is invalid'
    case 'invalid_value':
      return `must be ${inWords(issue.values.map(String))}`
    case 'too_small':
      return 'must not be empty'
    case 'custom':
      return issue.message
    default:
      return 'is invalid'
  }
}
