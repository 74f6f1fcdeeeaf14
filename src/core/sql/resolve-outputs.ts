/** Resolves the select list with GROUP BY: the columns and aggregates of the result, and their keys. */
import { say, words } from '../errors.ts'
import type { Literal } from '../expressions/ast.ts'
import { type ColumnRef, isSameRef, typeOf } from '../expressions/condition.ts'
import { LanguageError } from '../expressions/language-error.ts'
import { familyOf } from '../expressions/resolve-comparison.ts'
import { unsupported } from '../expressions/unsupported.ts'
import { isRedaction, type Redaction } from '../redaction.ts'
import { unreachable } from '../util/causes.ts'
import { at as itemAt, required } from '../util/lists.ts'
import { typesThat } from '../values/column-types.ts'
import { AGGREGATE_RULES, DISTINCT_RULE } from './aggregate.ts'
import { assertReadable, type ColumnUses, useColumn } from './column-uses.ts'
import type { AggregateOutput, Outputs, Source, ValueOutput } from './query.ts'
import { resolveGroupOrder, resolveRowOrder } from './resolve-order.ts'
import { findSource } from './scope.ts'
import type { Select, SelectItem } from './select.ts'

type Item<Kind extends SelectItem['kind']> = Extract<SelectItem, { readonly kind: Kind }>

/** An output whose key is not yet unique. */
interface Draft<Output> {
  readonly output: Output
  /** `table.column`, the key if several outputs share one; undefined for an aggregate. */
  readonly qualified: string | undefined
  readonly at: number
}

/** Resolves a select list, with the clauses that decide what it means. Throws `LanguageError` of kind `name`, `level`, `type`, `rule`, `syntax` or `unsupported`. */
export function resolveOutputs(
  { items, groupBy, orderBy }: Pick<Select, 'items' | 'groupBy' | 'orderBy'>,
  columnUses: ColumnUses,
): Outputs {
  if (groupBy.length > 0) return resolveGroups({ items, groupBy, orderBy }, columnUses)
  const aggregates = items.filter((item) => item.kind === 'aggregate')
  if (aggregates.length === 0) {
    const values = withUniqueKeys(items.flatMap((item) => draftValues(item, columnUses)))
    return { kind: 'rows', values, order: resolveRowOrder(orderBy, values, columnUses) }
  }
  const beside = items.find((item) => item.kind !== 'aggregate')
  if (beside !== undefined) throw unsupported('A column beside an aggregate (GROUP BY)', beside.at)
  const outputs = withUniqueKeys(aggregates.map((item) => draftAggregate(item, columnUses)))
  // One record has an order, whatever it is.
  resolveGroupOrder(orderBy, { by: [], items: outputs }, columnUses)
  return { kind: 'totals', aggregates: outputs }
}

function resolveGroups(
  { items, groupBy, orderBy }: Pick<Select, 'items' | 'groupBy' | 'orderBy'>,
  columnUses: ColumnUses,
): Outputs {
  const by = groupBy.map((name): ColumnRef => {
    const ref = useColumn(columnUses, name, 'group')
    assertReadable(ref, name.at)
    familyOf({ ref, at: name.at })
    return ref
  })
  const drafts = items.map((item): Draft<ValueOutput | AggregateOutput> => {
    if (item.kind === 'aggregate') return draftAggregate(item, columnUses)
    if (item.kind === 'star') throw unsupported('* beside GROUP BY', item.at)
    const [draft] = draftValues(item, columnUses)
    const { output } = required(draft)
    if (by.some((ref) => isSameRef(ref, output.ref))) return required(draft)
    throw new LanguageError(
      'rule',
      say`Column ${item.column.name} is not in GROUP BY. Add it there, or select an aggregate of it.`,
      item.at,
    )
  })
  const grouped = { by, items: withUniqueKeys(drafts) }
  return { kind: 'groups', ...grouped, order: resolveGroupOrder(orderBy, grouped, columnUses) }
}

function draftValues(item: SelectItem, columnUses: ColumnUses): Draft<ValueOutput>[] {
  const { scope } = columnUses
  switch (item.kind) {
    case 'star': {
      const sources = item.table === undefined ? scope.sources : [findSource(scope, item.table, item.at)]
      return sources.flatMap((source) => expandStar(source, item, columnUses))
    }
    case 'value':
      return [draftColumn(item, 'DEFAULT', columnUses)]
    case 'redaction':
      return [draftColumn(item, readLevel(item.level), columnUses)]
    case 'aggregate':
      return []
    default:
      return unreachable(item)
  }
}

/** The id and every column that is visible in some row, without transient columns, whose values are not stored in the row. */
function expandStar(source: Source, { at }: Item<'star'>, { scope: { idName }, uses }: ColumnUses): Draft<ValueOutput>[] {
  const columns = source.table.columns.filter((column) => column.token?.expires !== true && source.access.possiblyVisible(column))
  const refs: ColumnRef[] = [undefined, ...columns].map((column) => ({ source: source.index, column }))
  for (const ref of refs) uses.push({ kind: 'select all', ref })
  return refs.map((ref) => {
    const name = ref.column?.name ?? idName
    return { output: { key: name, ref, redaction: 'DEFAULT' }, qualified: `${source.alias}.${name}`, at }
  })
}

function draftColumn(item: Item<'value'> | Item<'redaction'>, redaction: Redaction, columnUses: ColumnUses): Draft<ValueOutput> {
  const ref = useColumn(columnUses, item.column, 'select')
  assertReadable(ref, item.column.at)
  const qualified = `${itemAt(columnUses.scope.sources, ref.source).alias}.${item.column.name}`
  return { output: { key: item.alias ?? item.column.name, ref, redaction }, qualified, at: item.at }
}

function readLevel(literal: Literal): Redaction {
  const level = literal.kind === 'text' ? literal.text.toUpperCase() : undefined
  if (isRedaction(level)) return level
  throw new LanguageError('syntax', say`Expected the level DEFAULT, REDACTED, MASKED or PLAIN_TEXT.`, literal.at)
}

function draftAggregate(item: Item<'aggregate'>, columnUses: ColumnUses): Draft<AggregateOutput> {
  const { name, column, isDistinct, at } = item
  const output = { key: item.alias ?? item.text, name, isDistinct, at }
  if (column === undefined) return { output: { ...output, ref: undefined }, qualified: undefined, at }
  const { accepts, readsValues } = isDistinct ? DISTINCT_RULE : AGGREGATE_RULES[name]
  const ref = useColumn(columnUses, column, readsValues ? 'aggregate' : 'count')
  assertReadable(ref, column.at)
  const type = typeOf(ref)
  if (accepts !== undefined && !accepts(type)) {
    const types = words(typesThat(accepts, 'or'))
    const sentence = say`${words(name.toUpperCase())} requires a column of type ${types}; this one is ${words(type.name)}.`
    throw new LanguageError('type', sentence, column.at)
  }
  return { output: { ...output, ref }, qualified: undefined, at }
}

/** Gives outputs that share a key the key `table.column`. Throws a `name` error if two keys are still equal. */
function withUniqueKeys<Output extends { readonly key: string }>(drafts: readonly Draft<Output>[]): Output[] {
  const counts = new Map<string, number>()
  for (const { output } of drafts) counts.set(output.key, (counts.get(output.key) ?? 0) + 1)
  const taken = new Set<string>()
  return drafts.map(({ output, qualified, at }) => {
    const key = (counts.get(output.key) ?? 0) > 1 ? (qualified ?? output.key) : output.key
    if (taken.has(key)) {
      throw new LanguageError('name', say`Two result columns have the same name. Rename one with AS.`, at)
    }
    taken.add(key)
    return { ...output, key }
  })
}
