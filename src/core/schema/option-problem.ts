/** Says in one clause what is wrong with the options of a column. */
import type * as z from 'zod'
import { printableName } from '../errors.ts'
import { supportedNames } from '../util/options.ts'

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

/** Returns what is wrong with a definition that does not have its shape, whose type has the supported options. It names the option, and quotes no value. */
export function optionProblem(
  definition: unknown,
  first: z.core.$ZodIssue | undefined,
  supported: readonly string[],
): OptionProblem {
  const issue = first === undefined ? undefined : innermost(first)
  if (issue !== undefined && issue.path.length > 0)
    return { before: `option "${issue.path.map(String).join('.')}" of `, after: `${clauseOf(issue)}.` }
  if (issue?.code !== 'unrecognized_keys') return { before: '', after: 'must be a column definition, such as column.string().' }
  const named = `is of type ${typeIn(definition)}, which has no option "${printableName(issue.keys[0])}"`
  return { before: '', after: `${named}. ${supportedNames(issue.keys[0] ?? '', supported)}` }
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
