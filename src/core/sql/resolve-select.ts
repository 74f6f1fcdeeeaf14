/** Resolves a parsed SELECT: checks every name, grant, type and key before any row is read. */
import { fault, say } from '../errors.ts'
import type { Expression } from '../expressions/ast.ts'
import { allOf } from '../expressions/columns-of.ts'
import type { Condition } from '../expressions/condition.ts'
import { LanguageError } from '../expressions/language-error.ts'
import { resolveExpression } from '../expressions/resolve-expression.ts'
import { MAX_JOINED_TABLES, MAX_QUERY_RECORDS } from '../limits.ts'
import type { Layout, Table } from '../schema/layout.ts'
import { useConditionColumns } from './column-uses.ts'
import type { JoinStep, Query, Source, Use } from './query.ts'
import { unknownTableError } from './query-error.ts'
import { resolveOutputs } from './resolve-outputs.ts'
import type { Scope } from './scope.ts'
import { findColumn, isKnown } from './scope.ts'
import type { FromTable, Select } from './select.ts'
import type { SourceAccess } from './source-access.ts'
import { SHOWS_ANYTHING } from './source-access.ts'

/** What resolving a query needs. */
export interface ResolveInput {
  /** The text of the query, for line and column in errors. */
  readonly text: string
  readonly layout: Pick<Layout, 'tables'>
  /** The name of the record id. */
  readonly idName: string
  accessTo(table: Table): SourceAccess
}

/** Resolves a query. Throws `LanguageError`, and `not_found` for an unknown table. */
export function resolveSelect(select: Select, input: ResolveInput): Query {
  const sources = resolveSources(select, input)
  assertIdName(sources, input.idName)
  const scope: Scope = { sources, idName: input.idName }
  const uses: Use[] = []
  const outputs = resolveOutputs(select.items, { uses, scope })
  // ON can use its own table and those before it.
  const scopeOf = (index: number): Scope => ({ ...scope, sources: sources.slice(0, index + 2) })
  const onClauses = select.joins.map(({ kind, on }, index) => ({ kind, on, scope: scopeOf(index) }))
  for (const clause of onClauses) useConditionColumns({ uses, scope: clause.scope }, clause.on)
  if (select.where !== undefined) useConditionColumns({ uses, scope }, select.where)
  const joins = onClauses.map((clause): JoinStep => ({ kind: clause.kind, on: resolveCondition(clause.on, clause.scope) }))
  return {
    sources,
    joins,
    where: select.where === undefined ? allOf([]) : resolveCondition(select.where, scope),
    outputs,
    limit: Math.min(select.limit ?? MAX_QUERY_RECORDS, MAX_QUERY_RECORDS),
    offset: select.offset ?? 0,
    uses,
  }
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
  const beyond = named[MAX_JOINED_TABLES]
  if (beyond !== undefined) {
    throw new LanguageError('limit', say`A query joins at most ${MAX_JOINED_TABLES} tables.`, beyond.at)
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
  if (table === undefined) throw unknownTableError(text, from)
  const access = accessTo(table)
  if (!access.possiblyMeets(SHOWS_ANYTHING)) {
    throw new LanguageError('level', say`READ on table ${table.name} is not granted. Ask the vault owner for a role.`, from.at)
  }
  return { index, alias: from.alias, table, access }
}
