/** The text of a query on its way to a plan. Texts that differ only in literals have one form, which is kept, and share what does not depend on them. */
import { fault } from '../errors.ts'
import type { Literal } from '../expressions/ast.ts'
import { toLiterals } from '../expressions/parameter-values.ts'
import { QUERY_LIMITS, type QueryLimits } from '../limits.ts'
import type { CacheReading } from '../ports/observability.ts'
import { filterCells } from '../row-access/find-visible.ts'
import type { Layout, Table } from '../schema/layout.ts'
import { bindParameters } from '../sql/bind-parameters.ts'
import { parseSelect } from '../sql/parse-select.ts'
import { type Plan, planQuery } from '../sql/plan.ts'
import { namesIn, namesOf, type QueryNames } from '../sql/query-names.ts'
import { type ResolvedNames, resolveNames, resolveSelect } from '../sql/resolve-select.ts'
import { withQueryErrors } from '../sql/scope.ts'
import type { Select } from '../sql/select.ts'
import { type CutText, createTemplate, cutLiterals, type SelectTemplate } from '../sql/select-template.ts'
import type { SourceAccess } from '../sql/source-access.ts'
import { isSqlQuery } from '../sql/sql.ts'
import { readInput } from '../util/boundary.ts'
import { unreachable } from '../util/causes.ts'
import type { Scanning } from './scan-rows.ts'

/** The dependencies of planning a query. */
export interface Planning extends Pick<Scanning, 'barrier'>, Pick<QuerySchema, 'layout'> {
  readonly access: { table(table: Table): SourceAccess }
}

/** The text of a query, what it parses to, and the names in it. */
export interface QueryText {
  readonly text: string
  /** The values of its parameters, in order. */
  readonly values: readonly Literal[]
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

/**
 * Reads a query and the values of its parameters. Throws `invalid_request` if the query is neither a string nor made by `sql`. Other errors
 * of the text and the values are thrown when it is planned.
 */
export function readQuery(query: unknown, schema: QuerySchema, given?: unknown): QueryText {
  const { idName, limits = QUERY_LIMITS } = schema
  const made = isSqlQuery(query) ? query : undefined
  const text = made === undefined ? query : made.text
  if (typeof text !== 'string') throw fault('invalid_request')`The query must be a string, or made by sql.`
  if (made !== undefined && given !== undefined) throw fault('invalid_request')`A query made by sql takes no other values.`
  try {
    const values = readInput(() => toLiterals(made === undefined ? given : made.values, limits))
    return readText(text, values, { ...schema, limits })
  } catch (error) {
    return { text, values: [], idName, limits, parsed: { kind: 'invalid', error }, names: namesIn(text, schema) }
  }
}

function readText(text: string, values: readonly Literal[], schema: QuerySchema & { readonly limits: QueryLimits }): QueryText {
  const { idName, limits } = schema
  const cut = text.length > limits.maxQueryLength ? undefined : cutLiterals(text, values)
  const form = cut && findForm(schema, cut.form)
  const known = cut && form?.template.bind(cut.literals)
  if (form !== undefined && known !== undefined) {
    return { text, values, idName, limits, parsed: { kind: 'known', select: known, form }, names: form.names }
  }
  const select = readSelect(text, values, limits)
  return { text, values, idName, limits, parsed: { kind: 'new', select, cut }, names: namesOf(select, schema) }
}

function readSelect(text: string, values: readonly Literal[], limits: QueryLimits): Select {
  return bindParameters(parseSelect(text, limits), values, limits)
}

/** Returns the plan of a query. Throws the errors of its text, with line and column. Reads no row. */
export function planText(context: Planning, query: QueryText): Plan {
  return withQueryErrors(query.text, () => {
    const { text, values, limits, parsed } = query
    switch (parsed.kind) {
      case 'known':
        // A refused query is planned from its text: only that has the positions of its errors.
        return planKnown(context, query, parsed) ?? planSelect(context, query, readSelect(text, values, limits))
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

function planSelect(context: Planning, query: QueryText, select: Select): Plan {
  return planResolved(context, query, { select, names: namesFor(context, query, select) })
}

/** Returns the plan of a query of a known form; undefined if it is refused. */
function planKnown(
  context: Planning,
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

function namesFor({ layout, access }: Planning, { text, idName, limits }: QueryText, select: Select): ResolvedNames {
  return resolveNames(select, { text, layout, idName, limits, accessTo: (table) => access.table(table) })
}

function planResolved(
  { barrier }: Planning,
  { limits }: QueryText,
  { select, names }: { readonly select: Select; readonly names: ResolvedNames },
): Plan {
  return planQuery(resolveSelect(select, names, limits), (table) => filterCells(barrier, table))
}

/** Keeps the form of a query that is valid, so that the only words in it are those of SQL and of the schema, and aliases. */
function keepTemplate(
  { layout }: Planning,
  { idName, names }: QueryText,
  { select, cut }: ParsedText & { readonly kind: 'new' },
): void {
  const template = cut && createTemplate(select, cut.literals)
  if (cut !== undefined && template !== undefined) keepForm({ layout, idName }, cut.form, { template, names })
}

/** What the names of a query are looked up in. */
export interface QuerySchema {
  readonly layout: Pick<Layout, 'tables' | 'erased'>
  /** The name of the record id in the query. */
  readonly idName: string
  /** Default: those of `QUERY_LIMITS`. All queries of one layout have the same. */
  readonly limits?: QueryLimits
}

/** A valid query without its literals. */
export interface QueryForm {
  readonly template: SelectTemplate
  readonly names: QueryNames
  /** Returns what the names mean under an access to the tables. It is made once for each of the last accesses. */
  resolvedFor(access: object, resolve: () => ResolvedNames): ResolvedNames
}

/** Forms of one age. The older half is dropped when the younger half is full. */
const MAX_FORMS = 128
/** Accesses of one form whose names are kept. */
const MAX_ACCESSES = 16

interface Forms {
  young: Map<string, QueryForm>
  old: Map<string, QueryForm>
  hits: number
  misses: number
}

/** By layout: a changed schema has another one. */
const formsOf = new WeakMap<object, Forms>()

/** Returns a form that was kept; undefined if it was not, or not lately. */
function findForm({ layout, idName }: QuerySchema, text: string): QueryForm | undefined {
  const forms = openForms(layout)
  const key = keyOf(idName, text)
  const young = forms.young.get(key)
  if (young !== undefined) {
    forms.hits++
    return young
  }
  const old = forms.old.get(key)
  if (old !== undefined) keep(forms, key, old)
  if (old === undefined) forms.misses++
  else forms.hits++
  return old
}

/** Returns the forms of a layout, none at first. */
function openForms(layout: object): Forms {
  const known = formsOf.get(layout)
  if (known !== undefined) return known
  const forms: Forms = { young: new Map(), old: new Map(), hits: 0, misses: 0 }
  formsOf.set(layout, forms)
  return forms
}

/** Returns the state of the cache of a layout. */
export function readQueryForms({ layout }: Pick<QuerySchema, 'layout'>): CacheReading {
  const { young, old, hits, misses } = openForms(layout)
  return { cache: 'query_forms', entries: young.size + old.size, hits, misses }
}

/** Keeps the form of a valid query. */
function keepForm({ layout, idName }: QuerySchema, text: string, form: Pick<QueryForm, 'template' | 'names'>): void {
  keep(openForms(layout), keyOf(idName, text), { ...form, resolvedFor: createResolvedNames() })
}

function keep(forms: Forms, key: string, form: QueryForm): void {
  if (forms.young.size >= MAX_FORMS) {
    forms.old = forms.young
    forms.young = new Map()
  }
  forms.young.set(key, form)
}

/** The lexer accepts this character nowhere in the text of a form. */
const SEPARATOR = '\u0002'

function keyOf(idName: string, text: string): string {
  return idName + SEPARATOR + text
}

/** Weak, so that the accesses of ended sessions can go. */
function createResolvedNames(): QueryForm['resolvedFor'] {
  let known = new WeakMap<object, ResolvedNames>()
  let count = 0
  return (access, resolve) => {
    const found = known.get(access)
    if (found !== undefined) return found
    const names = resolve()
    if (count++ >= MAX_ACCESSES) {
      known = new WeakMap()
      count = 1
    }
    known.set(access, names)
    return names
  }
}
