/** Converts the tree of PostgreSQL's own parser to a tree of ours, to compare it with the result of our parser. */
import { parseSync, scanSync } from 'libpg-query'
import { RESERVED_WORDS } from '../../../src/core/schema/names.ts'

/** A tree of ours without offsets and without texts of functions; numbers by value. */
export type Reading = Readonly<Record<string, unknown>>

// PostgreSQL's tree is JSON without a schema, so every member is checked before it is used.
type Json = Readonly<Record<string, unknown>>

/** The tree that PostgreSQL reads; undefined if it rejects the text. Call `loadModule()` of libpg-query first. */
export function readAsPostgres(text: string): Reading | undefined {
  let parsed: Json
  try {
    parsed = json(parseSync(text))
  } catch {
    return undefined
  }
  const statements = array(parsed.stmts)
  if (statements.length !== 1) throw new Error(`PostgreSQL reads ${statements.length} statements`)
  const select = member(member(statements[0], 'stmt'), 'SelectStmt')
  const tables = array(select.fromClause)
  if (tables.length !== 1) throw new Error(`PostgreSQL reads ${tables.length} tables in FROM`)
  return {
    items: array(select.targetList).map(toItem),
    ...toTables(tables[0]),
    where: select.whereClause === undefined ? undefined : toCondition(select.whereClause),
    groupBy: array(select.groupClause).map(toOperand),
    orderBy: array(select.sortClause).map(toTerm),
    limit: toBound(select.limitCount),
    offset: toBound(select.limitOffset),
  }
}

/** A tree of ours as it is compared with a reading. */
export function toReading(tree: unknown): unknown {
  if (Array.isArray(tree)) return tree.map(toReading)
  if (typeof tree !== 'object' || tree === null) return tree
  const node = json(tree)
  if (node.kind === 'number') return toNumber(node.text)
  const isAggregate = 'isDistinct' in node
  const members = Object.entries(node).filter(([name]) => name !== 'at' && !(isAggregate && name === 'text'))
  return Object.fromEntries(members.map(([name, value]) => [name, toReading(value)]))
}

/**
 * Whether the result of PostgreSQL can be compared with ours. It cannot for lone surrogates and control characters, which its
 * WebAssembly build mangles; of comments, which that build trips over after NOT; and of names it cuts off or has key words for.
 */
export function isComparable(text: string): boolean {
  const isMangled = /\p{Surrogate}/u.test(text) || /--|\/\*|\p{Cc}/u.test(text.replace(/[\t\n]/g, ' '))
  const isCutOff = /"[^"]{60,}/.test(text)
  return !isMangled && !isCutOff && !scanSync(text).tokens.some((token) => isForeign(token))
}

/** A vault's tables and columns may be called what PostgreSQL alone reserves. */
function isForeign({ text, keywordName }: { readonly text: string; readonly keywordName: string }): boolean {
  const word = text.toLowerCase()
  if (keywordName !== 'RESERVED_KEYWORD' && keywordName !== 'TYPE_FUNC_NAME_KEYWORD') return false
  return !RESERVED_WORDS.has(word)
}

function toTables(node: unknown): Reading {
  const join = json(node).JoinExpr
  if (join === undefined) return { from: toTable(node), joins: [] }
  const { jointype, larg, rarg, quals } = json(join)
  const before = toTables(larg)
  const kind = { JOIN_INNER: 'inner', JOIN_LEFT: 'left', JOIN_RIGHT: 'right', JOIN_FULL: 'full' }[String(jointype)]
  return { ...before, joins: [...array(before.joins), { kind, table: toTable(rarg), on: toCondition(quals) }] }
}

function toTable(node: unknown): Reading {
  const range = member(node, 'RangeVar')
  return { table: range.relname, alias: range.alias === undefined ? range.relname : json(range.alias).aliasname }
}

function toItem(node: unknown): Reading {
  const { name: alias, val } = member(node, 'ResTarget')
  const call = json(val).FuncCall
  if (call !== undefined) return { ...toCall(json(call)), alias }
  const fields = toFields(val)
  const isStar = fields.at(-1) === undefined
  return isStar ? { kind: 'star', table: fields.at(-2) } : { kind: 'value', column: toOperand(val), alias }
}

function toCall({ funcname, args, agg_star: isStar, agg_distinct: isDistinct = false }: Json): Reading {
  const name = member(array(funcname)[0], 'String').sval
  const [column, level] = isStar === true ? [] : array(args).map(toOperand)
  return name === 'redaction' ? { kind: 'redaction', column, level } : { kind: 'aggregate', name, column, isDistinct }
}

function toTerm(node: unknown): Reading {
  const { node: by, sortby_dir: direction, sortby_nulls: nulls } = member(node, 'SortBy')
  if (nulls !== 'SORTBY_NULLS_DEFAULT') throw new Error('PostgreSQL reads an order of nulls')
  const call = json(by).FuncCall
  const { kind: _, ...called } = call === undefined ? {} : toCall(json(call))
  return { by: call === undefined ? toOperand(by) : called, direction: direction === 'SORTBY_DESC' ? 'desc' : 'asc' }
}

/** Names of a column; undefined is `*`. */
function toFields(node: unknown): readonly unknown[] {
  return array(member(node, 'ColumnRef').fields).map((field) => {
    const text = json(field).String
    return text === undefined ? undefined : json(text).sval
  })
}

function toCondition(node: unknown): Reading {
  const { BoolExpr, NullTest, A_Expr, A_Const } = json(node)
  if (BoolExpr !== undefined) return toBoolean(json(BoolExpr))
  if (NullTest !== undefined) {
    const test = { kind: 'isNull', operand: toOperand(json(NullTest).arg) }
    return json(NullTest).nulltesttype === 'IS_NULL' ? test : { kind: 'not', operand: test }
  }
  if (A_Expr !== undefined) return toPredicate(json(A_Expr))
  const { boolval, isnull } = json(A_Const)
  return { kind: 'truth', truth: isnull === true ? undefined : json(boolval).boolval === true }
}

function toBoolean({ boolop, args }: Json): Reading {
  const operands = array(args).map(toCondition)
  if (boolop === 'NOT_EXPR') return { kind: 'not', operand: operands[0] }
  const kind = boolop === 'AND_EXPR' ? 'and' : 'or'
  return { kind, operands: operands.flatMap((operand) => (operand.kind === kind ? array(operand.operands) : [operand])) }
}

function toPredicate({ kind, name, lexpr, rexpr }: Json): Reading {
  const operator = String(member(array(name)[0], 'String').sval)
  const left = toOperand(lexpr)
  if (kind === 'AEXPR_IN') {
    const operands = array(member(rexpr, 'List').items).map((item) => toComparison('=', left, toOperand(item)))
    return negatedIf(operator === '<>', operands.length === 1 ? operands[0] : { kind: 'or', operands })
  }
  if (kind === 'AEXPR_BETWEEN' || kind === 'AEXPR_NOT_BETWEEN') {
    const [low, high] = array(member(rexpr, 'List').items).map(toOperand)
    const operands = [toComparison('>=', left, low), toComparison('<=', left, high)]
    return negatedIf(kind === 'AEXPR_NOT_BETWEEN', { kind: 'and', operands })
  }
  const right = toOperand(rexpr)
  if (operator === '?') return { kind: 'hasKey', operand: left, key: right }
  if (!operator.includes('~')) return toComparison(operator, left, right)
  return negatedIf(operator.startsWith('!'), { kind: 'like', ignoresCase: operator.endsWith('*'), left, right })
}

/** A comparison as our tree has it: without operators that are the negation of another. */
function toComparison(operator: string, left: unknown, right: unknown): Reading {
  const negated = { '<=': '>', '>=': '<', '<>': '=' }[operator]
  return negatedIf(negated !== undefined, { kind: 'compare', operator: negated ?? operator, left, right })
}

function negatedIf(isNegated: boolean, operand: Reading | undefined): Reading {
  return isNegated ? { kind: 'not', operand } : { ...operand }
}

function toOperand(node: unknown): Reading {
  const { A_Const: constant, A_Expr: signed, ParamRef } = json(node)
  if (ParamRef !== undefined) return { kind: 'parameter', number: json(ParamRef).number }
  if (signed !== undefined) return toSigned(json(signed))
  if (constant === undefined) {
    const fields = toFields(node)
    return { kind: 'column', table: fields.at(-2), name: fields.at(-1) }
  }
  const { ival, fval, sval, boolval } = json(constant)
  if (sval !== undefined) return { kind: 'text', text: json(sval).sval ?? '' }
  if (boolval !== undefined) return { kind: 'boolean', value: json(boolval).boolval === true }
  if (ival !== undefined) return toNumber(json(ival).ival ?? 0)
  return fval === undefined ? { kind: 'null' } : toNumber(json(fval).fval)
}

/** A number behind a sign that PostgreSQL leaves as an operator: every plus, and a minus before another operator. */
function toSigned({ name, lexpr, rexpr }: Json): Reading {
  const operator = String(member(array(name)[0], 'String').sval)
  const { kind, value } = toOperand(rexpr)
  if (lexpr !== undefined || kind !== 'number' || !'+-'.includes(operator)) throw new Error('PostgreSQL reads an operator')
  return toNumber(operator === '-' ? -Number(value) : value)
}

/** A number by its value. Adding zero makes -0 zero: PostgreSQL's tree has 0 for the integer -0, our literal keeps its spelling, and both mean zero. */
function toNumber(written: unknown): Reading {
  return { kind: 'number', value: Number(written) + 0 }
}

function toBound(node: unknown): unknown {
  if (node === undefined) return undefined
  const bound = toOperand(node)
  return bound.kind === 'parameter' ? bound : bound.value
}

function member(node: unknown, name: string): Json {
  return json(json(node)[name])
}

function json(node: unknown): Json {
  if (typeof node !== 'object' || node === null) throw new Error('PostgreSQL reads a node that has no counterpart here')
  return Object.fromEntries(Object.entries(node))
}

function array(node: unknown): readonly Json[] {
  return Array.isArray(node) ? node : []
}
