/** Puts the values of a query in the places of its parameters, after the query was parsed: no value can change what it parses to. */
import { fault, say, words } from '../errors.ts'
import type { Literal, Parameter } from '../expressions/ast.ts'
import { LanguageError } from '../expressions/language-error.ts'
import { withoutValue } from '../expressions/parameter-values.ts'
import { unsupported } from '../expressions/unsupported.ts'
import type { QueryLimits } from '../limits.ts'
import { type ParsedSelect, replaceInSelect, type Select, wholeNumber } from './select.ts'

/**
 * Returns the query with these literals in the places of its parameters. Throws `LanguageError` for a parameter without a value and for
 * values that are too long, `invalid_request` for a value without a parameter.
 */
export function bindParameters(parsed: ParsedSelect, values: readonly Literal[], { maxQueryLength }: QueryLimits): Select {
  const used = new Set<number>()
  let length = 0
  const literalFor = ({ number, at }: Parameter): Literal => {
    const value = values[number - 1]
    if (value === undefined) throw withoutValue(at)
    used.add(number)
    if (value.kind === 'text') length += value.text.length
    if (length <= maxQueryLength) return { ...value, at }
    throw new LanguageError('limit', say`The values of this query are longer than ${maxQueryLength} characters together.`, at)
  }
  const { limit, offset, ...rest } = replaceInSelect(parsed, (one) => (one.kind === 'parameter' ? literalFor(one) : one))
  const bound = { ...rest, limit: numberOf(limit, literalFor), offset: numberOf(offset, literalFor) }
  const unused = values.findIndex((_, index) => !used.has(index + 1))
  if (unused < 0) return bound
  throw fault(
    'invalid_request',
  )`Value ${unused + 1} is not used: the query has no parameter ${words(`$${unused + 1}`)}. In quotes it is text: leave the quotes out, and write % and _ of a pattern into the value.`
}

/** Returns the number of LIMIT or OFFSET. */
function numberOf(given: number | Parameter | undefined, literalFor: (parameter: Parameter) => Literal): number | undefined {
  if (typeof given !== 'object') return given
  const value = literalFor(given)
  if (value.kind === 'number') return wholeNumber(value.text, value.at)
  if (value.kind === 'null') throw unsupported('LIMIT or OFFSET of NULL', value.at)
  throw new LanguageError('syntax', say`Parameter ${words(`$${given.number}`)} must be an integer.`, value.at)
}
