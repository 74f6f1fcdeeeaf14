/** Tests conditions on one sealed text with its UTF-8, as it is in an opened body: a scan then makes no string for each row. */
import type { Column } from '../schema/layout.ts'
import { toUtf8 } from '../util/bytes.ts'
import { columnTypes } from '../values/column-types.ts'
import type { Condition, Term } from './condition.ts'
import { createUtf8Equality, createUtf8Matcher, MAX_UTF8_BYTES, type Utf8Test } from './utf8-match.ts'

/** A test of one column. A record passes if it has a value, and the value passes. */
export interface ColumnTest {
  readonly column: Column
  readonly test: Utf8Test
}

/** Returns the test that a condition is true of texts of at most MAX_UTF8_BYTES; undefined if it must be evaluated on values. */
export function createColumnTest(condition: Condition): ColumnTest | undefined {
  if (condition.kind !== 'like' && condition.kind !== 'compare') return undefined
  const column = sealedText(condition.left)
  const wanted = textOf(condition.right)
  if (column === undefined || wanted === undefined) return undefined
  const test = condition.kind === 'like' ? likeTest(wanted, condition.ignoresCase) : equalTest(wanted, condition.operator)
  return test && { column, test }
}

function likeTest(pattern: string, ignoresCase: boolean): Utf8Test | undefined {
  return ignoresCase ? undefined : createUtf8Matcher(pattern)
}

function equalTest(wanted: string, operator: string): Utf8Test | undefined {
  return operator === '=' && wanted.length <= MAX_UTF8_BYTES ? createUtf8Equality(toUtf8(wanted)) : undefined
}

/** The column of a term if its values are texts in sealed bodies. A transient column has none there. */
function sealedText(term: Term): Column | undefined {
  const column = term.kind === 'cell' ? term.ref.column : undefined
  const isSealed = column !== undefined && column.plain === undefined && column.token?.expires !== true
  return isSealed && column.type === columnTypes.STRING ? column : undefined
}

function textOf(term: Term): string | undefined {
  return term.kind === 'constant' && term.type === columnTypes.STRING && typeof term.value === 'string' ? term.value : undefined
}
