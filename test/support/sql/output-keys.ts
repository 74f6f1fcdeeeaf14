/** Says under which keys a query answers, and of what type each output is. Source: semantics, "Query". */
import { unreachable } from '../../../src/core/util/unreachable.ts'
import type { ColumnTypeName } from '../../../src/core/values/column-type.ts'
import type { Item, RandomQuery, Source } from './query-tree.ts'
import { columnsOf, sourcesOf } from './query-tree.ts'

/** One output, `*` written out. The id is what only a vault has. */
export interface Output {
  /** The key it has as long as no other has it. */
  readonly name: string
  /** The key it has beside others of that name; undefined where there is none. */
  readonly fullName: string | undefined
  /** Undefined for a record's id. */
  readonly item: Exclude<Item, { kind: 'star' }> | undefined
}

/** The outputs of a query in their order. */
export function outputsOf(query: Pick<RandomQuery, 'items' | 'from' | 'joins'>): readonly Output[] {
  return query.items.flatMap((item): Output[] => {
    switch (item.kind) {
      case 'star':
        return (item.source === undefined ? sourcesOf(query) : [item.source]).flatMap(starOf)
      case 'column': {
        const { source, column } = item.term
        return [{ name: item.alias ?? column.name, fullName: `${source.alias}.${column.name}`, item }]
      }
      case 'aggregate':
        return [{ name: item.alias ?? aggregateText(item), fullName: undefined, item }]
      default:
        return unreachable(item)
    }
  })
}

function starOf(source: Source): Output[] {
  const id = { name: 'svc_id', fullName: `${source.alias}.svc_id`, item: undefined }
  const columns = columnsOf(source).map((term): Output => {
    const { name } = term.column
    return { name, fullName: `${source.alias}.${name}`, item: { kind: 'column', term, level: undefined, alias: undefined } }
  })
  return [id, ...columns]
}

/** A function as its key has it: in lower case, named as it was written. */
export function aggregateText({ name, term, isQualified }: Extract<Item, { kind: 'aggregate' }>): string {
  if (term === undefined) return `${name}(*)`
  return `${name}(${isQualified ? `${term.source.alias}.` : ''}${term.column.name})`
}

/** The keys in their order; undefined where some cannot be told apart. */
export function outputKeys(query: Pick<RandomQuery, 'items' | 'from' | 'joins'>): readonly string[] | undefined {
  const outputs = outputsOf(query)
  const keys = outputs.map(({ name, fullName }) => {
    const isAlone = outputs.filter((other) => other.name.toLowerCase() === name.toLowerCase()).length === 1
    return isAlone ? name.toLowerCase() : fullName
  })
  const named = keys.filter((key) => key !== undefined)
  return named.length === keys.length && new Set(named).size === named.length ? named : undefined
}

/** The type an output is compared as. `approximate` are doubles that were computed. */
export function outputType({ item }: Output): ColumnTypeName | 'approximate' | 'id' {
  if (item === undefined) return 'id'
  if (item.kind === 'column') return item.level === 'REDACTED' ? 'STRING' : item.term.column.type
  if (item.name === 'count') return 'INTEGER'
  const type = item.term?.column.type ?? 'INTEGER'
  if (item.name === 'avg') return 'approximate'
  return item.name === 'sum' && type === 'FLOAT' ? 'approximate' : type
}
