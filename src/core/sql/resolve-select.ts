/** Resolves a parsed SELECT: checks every name, grant, type and key before any row is read. */
import { fault, say } from '../errors.ts'
import type { Expression } from '../expressions/ast.ts'
import { allOf, type Condition } from '../expressions/condition.ts'
import { LanguageError } from '../expressions/language-error.ts'
import { resolveExpression } from '../expressions/resolve-expression.ts'
import type { QueryLimits } from '../limits.ts'
import { goneFault } from '../schema/catalog-schema.ts'
import type { Layout, Table } from '../schema/layout.ts'
import { useConditionColumns } from './column-uses.ts'
import { type JoinStep, needsOf, type Outputs, type Query, type Source, type Use } from './query.ts'
import { resolveOutputs } from './resolve-outputs.ts'
import { findColumn, isKnown, type Scope, unknownTableError } from './scope.ts'
import type { FromTable, Select } from './select.ts'
import { SHOWS_ANYTHING, type SourceAccess, type SourceNeeds } from './source-access.ts'

/** What resolving a query needs. */
export interface ResolveInput {
  /** The text of the query, for line and column in errors. */
  readonly text: string
  readonly layout: Pick<Layout, 'tables' | 'erased'>
  /** The name of the record id. */
  readonly idName: string
  readonly limits: QueryLimits
  accessTo(table: Table): SourceAccess
}

/** What the names of a query mean to one caller. It depends on no literal but redaction levels. */
export interface ResolvedNames {
  /** All sources. ON can use its own table and those before it. */
  readonly scope: Scope
  readonly outputs: Outputs
  readonly uses: readonly Use[]
  /** By source. */
  readonly needs: readonly SourceNeeds[]
}

/** Resolves the names of a query. Throws `LanguageError` and `not_found` for an unknown table. */
export function resolveNames(select: Select, input: ResolveInput): ResolvedNames {
  const sources = resolveSources(select, input)
  assertIdName(sources, input.idName)
  const scope: Scope = { sources, idName: input.idName }
  const uses: Use[] = []
  const outputs = resolveOutputs(select, { uses, scope })
  for (const [index, { on }] of select.joins.entries()) useConditionColumns({ uses, scope: scopeOfJoin(scope, index) }, on)
  if (select.where !== undefined) useConditionColumns({ uses, scope }, select.where)
  return { scope, outputs, uses, needs: sources.map((source) => needsOf(source, outputs, uses)) }
}

/** Returns the query of a SELECT and its resolved names. Throws `LanguageError`. */
export function resolveSelect(
  { joins, where, limit, offset }: Select,
  { scope, outputs, uses, needs }: ResolvedNames,
  { maxQueryRecords }: QueryLimits,
): Query {
  return {
    sources: scope.sources,
    joins: joins.map(({ kind, on }, index): JoinStep => ({ kind, on: resolveCondition(on, scopeOfJoin(scope, index)) })),
    where: where === undefined ? allOf([]) : resolveCondition(where, scope),
    outputs,
    limit: Math.min(limit ?? maxQueryRecords, maxQueryRecords),
    mayBeCut: limit === undefined || limit > maxQueryRecords,
    offset: offset ?? 0,
    uses,
    needs,
  }
}

function scopeOfJoin(scope: Scope, index: number): Scope {
  return { ...scope, sources: scope.sources.slice(0, index + 2) }
}

/** Throws `invalid_request` if a column that the caller can know has the name of the record id: a query could mean either. */
function assertIdName(sources: readonly Source[], idName: string): void {
  for (const source of sources) {
    const column = source.table.byName.get(idName)
    if (column === undefined || !isKnown(source, column)) continue
    const { name: table } = source.table
    throw fault('invalid_request', {
      table,
      column: idName,
    })`Option "idName" must not be the name of a column, and table ${table} has a column ${idName}. Use another name.`
  }
}

function resolveCondition(expression: Expression, scope: Scope): Condition {
  return resolveExpression(expression, { column: (name) => findColumn(scope, name) })
}

function resolveSources(select: Select, input: ResolveInput): Source[] {
  const named = [select.from, ...select.joins.map(({ table }) => table)]
  const { maxQueryTables } = input.limits
  const beyond = named[maxQueryTables]
  if (beyond !== undefined) {
    throw new LanguageError('limit', say`A query joins at most ${maxQueryTables} tables.`, beyond.at)
  }
  return named.map((from, index) => {
    if (named.findIndex(({ alias }) => alias === from.alias) < index) {
      throw new LanguageError('name', say`Table name ${from.alias} is used twice. Rename one with AS.`, from.at)
    }
    return resolveSource(from, index, input)
  })
}

function resolveSource(from: FromTable, index: number, { text, layout, accessTo }: ResolveInput): Source {
  const table = layout.tables.get(from.table)
  if (table === undefined) throw layout.erased.has(from.table) ? goneFault(from.table) : unknownTableError(text, from)
  const access = accessTo(table)
  if (!access.possiblyMeets(SHOWS_ANYTHING)) {
    throw new LanguageError('level', say`READ on table ${table.name} is not granted. Ask the vault owner for a role.`, from.at)
  }
  return { index, alias: from.alias, table, access }
}
