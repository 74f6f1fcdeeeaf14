/** The forms of recent queries: what texts share that differ only in literals. Nothing of a literal is kept. */
import type { QueryLimits } from '../limits.ts'
import type { CacheReading } from '../ports/observability.ts'
import type { Layout } from '../schema/layout.ts'
import type { QueryNames } from '../sql/query-names.ts'
import type { ResolvedNames } from '../sql/resolve-select.ts'
import type { SelectTemplate } from '../sql/select-template.ts'

/** What the names of a query are looked up in. */
export interface QuerySchema {
  readonly layout: Pick<Layout, 'tables'>
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
export function findForm({ layout, idName }: QuerySchema, text: string): QueryForm | undefined {
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
export function keepForm({ layout, idName }: QuerySchema, text: string, form: Pick<QueryForm, 'template' | 'names'>): void {
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
