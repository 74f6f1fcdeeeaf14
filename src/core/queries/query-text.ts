/** The text of a query on its way to a plan. Texts that differ only in literals share what does not depend on them. */
import { fault } from '../errors.ts'
import { QUERY_LIMITS, type QueryLimits } from '../limits.ts'
import { filterCells } from '../row-access/find-visible.ts'
import type { Table } from '../schema/layout.ts'
import { type CutText, cutLiterals } from '../sql/cut-literals.ts'
import { parseSelect } from '../sql/parse-select.ts'
import type { Plan } from '../sql/plan.ts'
import { planQuery } from '../sql/plan.ts'
import { withQueryErrors } from '../sql/query-error.ts'
import { namesIn, namesOf, type QueryNames } from '../sql/query-names.ts'
import { type ResolvedNames, resolveNames, resolveSelect } from '../sql/resolve-select.ts'
import type { Select } from '../sql/select.ts'
import { createTemplate } from '../sql/select-template.ts'
import type { SourceAccess } from '../sql/source-access.ts'
import { unreachable } from '../util/unreachable.ts'
import { findForm, keepForm, type QueryForm, type QuerySchema } from './query-forms.ts'
import type { ScanContext } from './scan-rows.ts'

/** The dependencies of planning a query. */
export interface PlanContext extends Pick<ScanContext, 'barrier'>, Pick<QuerySchema, 'layout'> {
  readonly access: { table(table: Table): SourceAccess }
}

/** The text of a query, what it parses to, and the names in it. */
export interface QueryText {
  readonly text: string
  /** The name of the record id in the query. */
  readonly idName: string
  readonly limits: QueryLimits
  readonly parsed: ParsedText
  readonly names: QueryNames
}

/** `known`: a query of a form that was planned before. `invalid`: the error of the text, which is thrown when the query is planned. */
type ParsedText =
  | { readonly kind: 'known'; readonly select: Select; readonly form: QueryForm }
  | { readonly kind: 'new'; readonly select: Select; readonly cut: CutText | undefined }
  | { readonly kind: 'invalid'; readonly error: unknown }

/** Reads a query. Throws `invalid_request` if it is not a string. Other errors of the text are thrown when it is planned. */
export function readQuery(text: unknown, schema: QuerySchema): QueryText {
  if (typeof text !== 'string') throw fault('invalid_request')`The query must be a string.`
  const { idName, limits = QUERY_LIMITS } = schema
  const cut = text.length > limits.maxQueryLength ? undefined : cutLiterals(text)
  const form = cut && findForm(schema, cut.form)
  const select = cut && form?.template.bind(cut.literals)
  if (form !== undefined && select !== undefined) {
    return { text, idName, limits, parsed: { kind: 'known', select, form }, names: form.names }
  }
  const parsed = parseText(text, cut, limits)
  return { text, idName, limits, parsed, names: parsed.kind === 'new' ? namesOf(parsed.select, schema) : namesIn(text, schema) }
}

/** Parses the text of a query, without those that came before. Does not throw. */
function parseText(
  text: string,
  cut: CutText | undefined,
  limits: QueryLimits,
): ParsedText & { readonly kind: 'new' | 'invalid' } {
  try {
    return { kind: 'new', select: parseSelect(text, limits), cut }
  } catch (error) {
    return { kind: 'invalid', error }
  }
}

/** Returns the plan of a query. Throws the errors of its text, with line and column. Reads no row. */
export function planText(context: PlanContext, query: QueryText): Plan {
  return withQueryErrors(query.text, () => {
    const { text, parsed, limits } = query
    switch (parsed.kind) {
      case 'known':
        // A refused query is planned from its text: only that has the positions of its errors.
        return planKnown(context, query, parsed) ?? planSelect(context, query, parseSelect(text, limits))
      case 'new': {
        const plan = planSelect(context, query, parsed.select)
        keepTemplate(context, query, parsed)
        return plan
      }
      case 'invalid':
        throw parsed.error
      default:
        return unreachable(parsed)
    }
  })
}

function planSelect(context: PlanContext, query: QueryText, select: Select): Plan {
  return planResolved(context, query, { select, names: namesFor(context, query, select) })
}

/** Returns the plan of a query of a known form; undefined if it is refused. */
function planKnown(
  context: PlanContext,
  query: QueryText,
  { select, form }: ParsedText & { readonly kind: 'known' },
): Plan | undefined {
  try {
    const names = form.resolvedFor(context.access, () => namesFor(context, query, form.template.select))
    return planResolved(context, query, { select, names })
  } catch {
    return undefined
  }
}

function namesFor({ layout, access }: PlanContext, { text, idName, limits }: QueryText, select: Select): ResolvedNames {
  return resolveNames(select, { text, layout, idName, limits, accessTo: (table) => access.table(table) })
}

function planResolved(
  { barrier }: PlanContext,
  { limits }: QueryText,
  { select, names }: { readonly select: Select; readonly names: ResolvedNames },
): Plan {
  return planQuery(resolveSelect(select, names, limits), (table) => filterCells(barrier, table))
}

/** Keeps the form of a query that is valid, so that the only words in it are those of SQL and of the schema, and aliases. */
function keepTemplate(
  { layout }: PlanContext,
  { idName, names }: QueryText,
  { select, cut }: ParsedText & { readonly kind: 'new' },
): void {
  const template = cut && createTemplate(select, cut.literals)
  if (cut !== undefined && template !== undefined) keepForm({ layout, idName }, cut.form, { template, names })
}
