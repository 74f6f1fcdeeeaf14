/** The shape of the definition of a column, made of the options of its type and of its token kind, and what is wrong with one that has no shape. */
import * as z from 'zod'
import { printableName } from '../errors.ts'
import { CONTENT_TYPE_PATTERN } from '../files/file-metadata.ts'
import { MAX_FILE_BYTES } from '../limits.ts'
import { REDACTION_LEVELS } from '../redaction.ts'
import { tokenKinds } from '../tokens/token-kinds.ts'
import { inWords } from '../util/lists.ts'
import { supportedNames } from '../util/options.ts'
import { columnTypes } from '../values/column-types.ts'

const maskShape = z.union(
  [
    z.strictObject({ preset: z.enum(['keepFirst', 'keepLast']), count: z.int().min(1).max(1000) }),
    z.strictObject({ preset: z.enum(['email', 'ssn', 'card', 'cardBin', 'iban']) }),
    z.strictObject({ find: z.string().min(1).max(1000), replace: z.string().max(1000) }),
  ],
  'must be a mask, such as mask.email or mask.keepFirst(1)',
)

/** One shape for each token kind, in which it has its own options. */
const kindShapes = mapped(Object.values(tokenKinds), ({ name, options }) => z.strictObject({ kind: z.literal(name), ...options }))

/** The kinds that can be given by name: those without required options. */
const plainKinds = mapped(
  Object.values(tokenKinds).filter(({ options }) => z.object(options).safeParse({}).success),
  ({ name }) => name,
)

const tokenShape = z.union(
  [z.enum(plainKinds), z.discriminatedUnion('kind', kindShapes)],
  `must be ${inWords(plainKinds)}, or a kind with its options, such as { kind: 'formatPreserving', format: 'card' }`,
)

const sealedShape = z.strictObject({
  sealed: z
    .array(z.enum(['order', 'contains']))
    .refine(
      (kinds) => ['order', 'contains', 'order,contains'].includes(kinds.join()),
      "must be ['order'], ['order', 'contains'] or ['contains']",
    ),
})

const common = {
  required: z.boolean().optional(),
  unique: z.boolean().optional(),
  encrypted: z.boolean().optional(),
  index: z
    .union([z.boolean(), z.literal('sealed'), sealedShape], "must be true, false, 'sealed' or { sealed: ['order', 'contains'] }")
    .optional(),
  searchable: z.boolean().optional(),
  redaction: z.enum(REDACTION_LEVELS).optional(),
  mask: maskShape.optional(),
  token: tokenShape.optional(),
  columnGroup: z.string().optional(),
  requires: z.array(z.literal('purpose')).min(1).max(1).readonly().optional(),
}

const allowedTypes = z.array(
  z.string().regex(CONTENT_TYPE_PATTERN, 'must be a MIME type in lower case without parameters, such as image/png or image/*'),
)

const fileShape = z.strictObject({
  type: z.literal('FILE'),
  redaction: common.redaction,
  requires: common.requires,
  allowedTypes: allowedTypes.min(1).max(1000).readonly().optional(),
  maxBytes: z.int().min(1).max(MAX_FILE_BYTES).optional(),
})

/** One shape for each column type, in which it has its own options. */
const columnShapes = [
  ...mapped(Object.values(columnTypes), ({ name, options }) => z.strictObject({ type: z.literal(name), ...common, ...options })),
  fileShape,
] as const

const columnShape = z.discriminatedUnion('type', columnShapes)

/** Returns what is made of each item of a list that is not empty. */
function mapped<Item, Result>(items: readonly Item[], make: (item: Item) => Result): [Result, ...Result[]] {
  return items.map(make) as [Result, ...Result[]] // The registries are not empty.
}

/** Types of values in plain words. */
const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: 'true or false',
  int: 'an integer',
  array: 'an array',
  object: 'an object',
}

/** What is wrong with a column: text before its name in a sentence, and after it, with the full stop. */
interface OptionProblem {
  readonly before: string
  readonly after: string
}

/** Returns what is wrong with the shape of a definition; undefined if it has one of those below. It names the option, and quotes no value. */
export function shapeProblem(definition: unknown): OptionProblem | undefined {
  const parsed = columnShape.safeParse(definition)
  if (parsed.success) return undefined
  const [first] = parsed.error.issues
  const issue = first === undefined ? undefined : innermost(first)
  if (issue !== undefined && issue.path.length > 0)
    return { before: `option "${issue.path.map(String).join('.')}" of `, after: `${clauseOf(issue)}.` }
  if (issue?.code !== 'unrecognized_keys') return { before: '', after: 'must be a column definition, such as column.string().' }
  const type = typeIn(definition)
  const named = `is of type ${type}, which has no option "${printableName(issue.keys[0])}"`
  return { before: '', after: `${named}. ${supportedNames(issue.keys[0] ?? '', optionsOf(type))}` }
}

/** Returns the options of a type. */
function optionsOf(type: string): string[] {
  const shape = columnShapes.find(({ shape: { type: own } }) => own.value === type)
  return Object.keys(shape?.shape ?? {}).filter((name) => name !== 'type')
}

/** Returns the problem inside the one alternative that the given value can have meant; the issue itself if that is not clear. */
function innermost(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') return issue
  const firsts = issue.errors.map(([first]) => first).filter((first) => first !== undefined)
  const [meant, ...others] = firsts.filter(({ path }) => path.length > 0)
  return meant === undefined || others.length > 0 ? issue : innermost({ ...meant, path: [...issue.path, ...meant.path] })
}

function clauseOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'unrecognized_keys':
      return `has no member "${printableName(issue.keys[0])}"`
    case 'invalid_type':
      return `must be ${KINDS[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`
    case 'invalid_union':
      return 'options' in issue && Array.isArray(issue.options)
        ? `must be one of ${issue.options.map(String).join(', ')}`
        : issue.message
    case 'too_small':
      return `must ${issue.origin === 'number' ? 'be' : 'have a length of'} at least ${issue.minimum}`
    case 'too_big':
      return `must ${issue.origin === 'number' ? 'be' : 'have a length of'} at most ${issue.maximum}`
    default:
      return issue.message
  }
}

/** Returns the type of a definition whose type is known. */
function typeIn(definition: unknown): string {
  return typeof definition === 'object' && definition !== null ? printableName(Reflect.get(definition, 'type')) : ''
}
