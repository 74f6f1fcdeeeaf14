/** What a schema can say of columns that are unique together, and what a changed schema can say of them. */
import { type Fault, fault, printableName, type Sentence, say, words } from '../errors.ts'
import {
  type ColumnDefinition,
  columnNamed,
  hasDigest,
  isTransient,
  type SchemaDefinition,
  tableNamed,
  typeOf,
} from './column.ts'
import type { SchemaRules } from './schema-rules.ts'

/** Returns the names of columns as a part of a sentence. */
export function listNames(names: readonly string[]): Sentence {
  return { texts: names.map((_, index) => (index === 0 ? '' : ', ')), pieces: names }
}

/** True for the names of the same columns. */
export function isSameKey(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((name) => right.includes(name))
}

/** Throws `invalid_request`, with table and column, for columns that cannot be unique together. */
export function assertTogether(tables: SchemaDefinition, { uniqueTogether = {} }: SchemaRules): void {
  for (const [table, keys] of Object.entries(uniqueTogether)) {
    const columns = tableNamed(tables, table)
    if (columns === undefined)
      throw invalid(say`uniqueTogether names table ${printableName(table)}, which does not exist.`, table)
    for (const [index, names] of keys.entries()) {
      for (const name of names) {
        const problem = memberProblem(columnNamed(columns, name))
        if (problem !== undefined)
          throw invalid(
            say`uniqueTogether of table ${table} names column ${printableName(name)}, which ${words(problem)}.`,
            table,
            name,
          )
      }
      const isRepeated = new Set(names).size < names.length || keys.slice(0, index).some((other) => isSameKey(other, names))
      if (isRepeated) throw invalid(say`uniqueTogether of table ${table} names the same columns twice.`, table, names[0])
    }
  }
}

/** Returns why values of a column cannot be compared by an index, and what to write; undefined if they can. */
function memberProblem(definition: ColumnDefinition | undefined): string | undefined {
  if (definition === undefined) return 'does not exist'
  if (definition.type === 'FILE') return 'holds files: leave it out'
  if (isTransient(definition)) return 'is transient, so that its values are not stored with the record: leave it out'
  if (definition.encrypted === false)
    return typeOf(definition).comparesAs === undefined
      ? 'is plain and of a type that cannot be compared: encrypt it and set searchable: true'
      : undefined
  return hasDigest(definition) ? undefined : 'is encrypted and has no digest: set searchable: true'
}

function invalid(sentence: Sentence, table: string, column?: string): Fault {
  const detail = { table: printableName(table), ...(column === undefined ? {} : { column: printableName(column) }) }
  return fault('invalid_request', detail)`Invalid schema: ${sentence}`
}

/** Returns what is unique together in a changed schema: what its rules say, and what was stored of tables and columns that the definition leaves out. */
export function keptTogether(
  definition: SchemaDefinition,
  known: SchemaRules['uniqueTogether'] = {},
  next: SchemaRules['uniqueTogether'] = {},
): SchemaRules['uniqueTogether'] {
  const kept: Record<string, readonly (readonly string[])[]> = { ...next }
  for (const [table, keys] of Object.entries(known)) {
    const own = next[table] ?? []
    const columns = tableNamed(definition, table)
    const others = keys.filter((names) => !names.every((name) => columnNamed(columns, name) !== undefined))
    if (others.length > 0) kept[table] = [...own, ...others]
  }
  return Object.keys(kept).length === 0 ? undefined : kept
}
