/** The members of a query string: how each is read from its texts, and how the API description shows it. */
import * as z from 'zod'
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
    const hint = known.length === 0 ? 'This route has none' : `Use only ${orList(known)}`
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
      if (known === undefined) throw invalid(`${name} must be ${orList(choices)}.`)
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

/** Returns "A, B or C". */
export function orList(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** Returns a member whose name the host chose, for a shape whose other members have types. Its value is read by `namedList`. */
export function named(name: string, member: QueryMember<unknown>): Record<never, never> {
  return { [name]: member }
}

/** Returns the list of a member whose name the host chose. */
export function namedList(texts: QueryTexts, name: string): readonly string[] | undefined {
  return list('').read(texts.get(name) ?? [], name, texts)
}
