/** A table with a column of every type, stored in different ways, and conditions about it resolved from text. */

import { say } from '../../../src/core/errors.ts'
import type { ColumnIdentifier, Expression } from '../../../src/core/expressions/ast.ts'
import type { ColumnRef, Condition, ValueOf } from '../../../src/core/expressions/condition.ts'
import { parseExpression } from '../../../src/core/expressions/expression-parser.ts'
import { LanguageError } from '../../../src/core/expressions/language-error.ts'
import { LexemeCursor } from '../../../src/core/expressions/lexeme-cursor.ts'
import type { NameResolver } from '../../../src/core/expressions/resolve-comparison.ts'
import { resolveExpression } from '../../../src/core/expressions/resolve-expression.ts'
import { assignIds, EMPTY_CATALOG_SCHEMA } from '../../../src/core/schema/catalog-schema.ts'
import type { CommonOptions, SchemaDefinition } from '../../../src/core/schema/column.ts'
import type { Column } from '../../../src/core/schema/column-layout.ts'
import { layoutSchema, type Table } from '../../../src/core/schema/layout.ts'
import type { ColumnTypeName } from '../../../src/core/values/column-type.ts'
import { defineSchema } from '../../../src/index.ts'

/** The types of the columns. DECIMAL has a test against a model: test/properties/exact-decimals.test.ts. */
export type SampledType = Exclude<ColumnTypeName, 'DECIMAL'>

/** Name and type of each column. Types whose columns are compared with each other have two. */
export const COLUMN_TYPES: Readonly<Record<string, SampledType>> = {
  s: 'STRING',
  s2: 'STRING',
  i: 'INTEGER',
  i2: 'INTEGER',
  f: 'FLOAT',
  f2: 'FLOAT',
  b: 'BOOL',
  b2: 'BOOL',
  d: 'DATE',
  d2: 'DATE',
  h: 'TIME',
  h2: 'TIME',
  m: 'DATETIME',
  m2: 'DATETIME',
  j: 'JSON',
  a: 'ARRAY',
}

/** Options that columns of every type have. */
export type Keeping = Pick<CommonOptions, 'encrypted' | 'searchable' | 'index'>

/** The columns, each stored as `keeping` says. */
export function columnsKept(keeping: (name: string) => Keeping): SchemaDefinition[string] {
  return Object.fromEntries(Object.entries(COLUMN_TYPES).map(([name, type]) => [name, { type, ...keeping(name) }]))
}

/** The layout of the schema's table. */
export function tableIn(schema: SchemaDefinition, name: string): Table {
  const table = layoutSchema(assignIds(defineSchema(schema).tables, EMPTY_CATALOG_SCHEMA)).tables.get(name)
  if (table === undefined) throw new Error(`the schema has no table ${name}`)
  return table
}

/** Resolves a column of the table, or `svc_id`. */
export function columnOf(table: Table): NameResolver['column'] {
  return ({ name, at }: ColumnIdentifier): ColumnRef => {
    const column = table.byName.get(name)
    if (column === undefined && name !== 'svc_id') throw new LanguageError('name', say`There is no column ${name}.`, at)
    return { source: 0, column }
  }
}

/** The syntax tree of a condition. */
export function parsed(text: string): Expression {
  return parseExpression(new LexemeCursor(text))
}

/** The resolved condition of a text about the table. */
export function resolvedCondition(table: Table, text: string, context?: NameResolver['context']): Condition {
  return resolveExpression(parsed(text), { column: columnOf(table), ...(context === undefined ? {} : { context }) })
}

/** Reads a row given as values by column name. */
export function rowOf(values: Readonly<Record<string, unknown>>): ValueOf {
  return ({ column }) => values[nameOf(column)] ?? null
}

function nameOf(column: Column | undefined): string {
  return column === undefined ? 'svc_id' : column.name
}
