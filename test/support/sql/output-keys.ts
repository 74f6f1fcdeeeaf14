/** The keys and types of the outputs of a query. Source: docs/sql.md. */
import { unreachable } from '../../../src/core/util/causes.ts'
import type { ColumnTypeName } from '../../../src/core/values/column-type.ts'
import { columnsOf, type Item, type RandomQuery, type Source, sourcesOf } from './query-tree.ts'

/** One output, after `*` is expanded. Only a vault has the id. */
export interface Output {
  /** Its key, if no other output has the same. */
  readonly name: string
  /** Its key beside outputs of the same name; undefined if it has none. */
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

/** A function as its key shows it: in lower case, with the argument as written. */
export function aggregateText({ name, term, isDistinct, isQualified }: Extract<Item, { kind: 'aggregate' }>): string {
  if (term === undefined) return `${name}(*)`
  return `${name}(${isDistinct ? 'distinct ' : ''}${isQualified ? `${term.source.alias}.` : ''}${term.column.name})`
}

/** The keys in order; undefined if two would be equal. */
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
