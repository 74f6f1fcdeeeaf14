/** Checks the shape of a body, and says what is wrong where, in the names of the wire. */
import * as z from 'zod'
import { VaultError } from '../../index.ts'
import { orList } from './query-members.ts'

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
      return `must be ${orList(issue.values.map(String))}`
    case 'too_small':
      return 'must not be empty'
    case 'custom':
      return issue.message
    default:
      return 'is invalid'
  }
}
