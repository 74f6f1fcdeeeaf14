/** Parses conditions: lexemes to syntax tree. Queries and policy statements use it. */
import { say } from '../errors.ts'
import { unreachable } from '../util/causes.ts'
import { append } from '../util/lists.ts'
import {
  CONNECTIVES,
  type ColumnIdentifier,
  type Comparator,
  EXTENDED_RELATIONS,
  type Expression,
  type Literal,
  type Operand,
  type Placed,
  PRECEDENCE,
  type Relation,
  SIGN_RELATIONS,
  WORD_RELATIONS,
} from './ast.ts'
import { LanguageError } from './language-error.ts'
import type { LexemeCursor } from './lexeme-cursor.ts'
import { foldName } from './lexer.ts'
import { unsupported } from './unsupported.ts'

/** A lexeme in double quotes, before its position in the predicate shows whether it is a name or a string. */
type Quoted = { readonly kind: 'quoted'; readonly text: string } & Placed

type ParsedOperand = Operand | Quoted

const OPERAND = 'a column or a value'

/**
 * Parses the longest condition at the cursor, and moves the cursor after it. Throws `LanguageError`.
 *
 *     expression = negation { AND negation } { OR negation { AND negation } }
 */
export function parseExpression(cursor: LexemeCursor): Expression {
  return toCondition(cursor, parseConnective(cursor, 0))
}

/**
 * Parses a column. Double quotes contain a name here.
 *
 *     column = name [ '.' name ]
 */
export function parseColumn(cursor: LexemeCursor): ColumnIdentifier {
  const first = cursor.expectName('a column')
  if (cursor.atSymbol('(')) throw unsupported('A function in this place', first.at)
  // `date '2020-01-01'` and `e'\n'` have a type or a prefix that would change the meaning of the string.
  if (cursor.peek().kind === 'text') throw unsupported('A word before a text', first.at)
  if (!cursor.takeSymbol('.')) return { kind: 'column', table: undefined, name: first.name, at: first.at }
  const second = cursor.expectName('a column')
  if (cursor.atSymbol('.')) throw unsupported('A name of more than two parts', first.at)
  if (cursor.atSymbol('(')) throw unsupported('A function in this place', first.at)
  return { kind: 'column', table: first.name, name: second.name, at: first.at }
}

/**
 * Parses the operands of one connective as a flat list: `a AND (b AND c)` is one list of three.
 *
 *     conjunction(level) = conjunction(level + 1) { connective(level) conjunction(level + 1) }
 */
function parseConnective(cursor: LexemeCursor, level: number): ParsedOperand | Expression {
  const connective = CONNECTIVES[level]
  if (connective === undefined) return parseNegation(cursor)
  const first = parseConnective(cursor, level + 1)
  if (!cursor.atWord(connective)) return first
  const operands = [...operandsOf(connective, toCondition(cursor, first))]
  while (cursor.takeWord(connective))
    append(operands, operandsOf(connective, toCondition(cursor, parseConnective(cursor, level + 1))))
  return { kind: connective, operands, at: first.at }
}

function operandsOf(connective: 'and' | 'or', condition: Expression): readonly Expression[] {
  return condition.kind === connective ? condition.operands : [condition]
}

/** `negation = NOT negation | predicate` */
function parseNegation(cursor: LexemeCursor): ParsedOperand | Expression {
  const { at } = cursor.peek()
  if (!cursor.takeWord('not')) return parsePredicate(cursor)
  return { kind: 'not', operand: cursor.nested(at, () => toCondition(cursor, parseNegation(cursor))), at }
}

/** `predicate = primary [ relation [ operand ] ]`. The operand can be in parentheses. Of the extensions, IN and BETWEEN have more operands. */
function parsePredicate(cursor: LexemeCursor): ParsedOperand | Expression {
  const left = parsePrimary(cursor)
  const { at } = cursor.peek()
  const relation = takeRelation(cursor)
  if (relation === undefined) return left
  if (isCondition(left)) throw unsupported('A comparison of a condition', at)
  const predicate = relate(cursor, toLeftOperand(left), relation)
  const after = cursor.peek()
  if (takeRelation(cursor) !== undefined) throw unsupported('A comparison of a condition', after.at)
  return predicate
}

/**
 *
 *     relation = '=' | '<' | '>' | '?' | [ NOT ] LIKE | [ NOT ] ILIKE | IS [ NOT ] NULL | ISNULL | NOTNULL | extended
 *     extended = '<=' | '>=' | '<>' | '!=' | [ NOT ] IN | [ NOT ] BETWEEN
 */
function takeRelation(cursor: LexemeCursor): Relation | undefined {
  if (cursor.takeWord('is')) return { kind: 'isNull', isNegated: takeNullTest(cursor) }
  const isNegated = cursor.takeWord('not')
  const relation = relationAt(cursor)
  if (!isNegated) {
    if (relation !== undefined) cursor.next()
    return relation
  }
  if (relation?.kind !== 'like' && relation?.kind !== 'in' && relation?.kind !== 'between')
    throw cursor.unexpected(cursor.isExtended ? 'BETWEEN, ILIKE, IN or LIKE' : 'LIKE or ILIKE')
  cursor.next()
  return { ...relation, isNegated }
}

function relationAt(cursor: LexemeCursor): Relation | undefined {
  const { kind, text } = cursor.peek()
  if (kind !== 'word' && kind !== 'symbol') return undefined
  const relation = (kind === 'word' ? WORD_RELATIONS : SIGN_RELATIONS).get(text)
  return relation ?? (cursor.isExtended ? EXTENDED_RELATIONS.get(text) : undefined)
}

/** Parses what follows IS. Returns true for NOT NULL. */
function takeNullTest(cursor: LexemeCursor): boolean {
  const isNegated = cursor.takeWord('not')
  const { kind, at } = cursor.peek()
  if (cursor.takeWord('null')) return isNegated
  throw kind === 'word' ? unsupported('IS with anything but NULL and NOT NULL', at) : cursor.unexpected('NULL')
}

/** Builds the predicate of a left operand and a relation. Parses the right operand, if the relation has one. */
function relate(cursor: LexemeCursor, left: Operand, relation: Relation): Expression {
  const { at } = left
  switch (relation.kind) {
    case 'isNull':
      return negatedIf(relation.isNegated, { kind: 'isNull', operand: left, at })
    case 'like': {
      const right = parseRight(cursor, left)
      return negatedIf(relation.isNegated, { kind: 'like', ignoresCase: relation.ignoresCase, left, right, at })
    }
    case 'compare':
      return compared(left, relation, parseRight(cursor, left))
    case 'in':
      return negatedIf(relation.isNegated, parseList(cursor, left))
    case 'between':
      return negatedIf(relation.isNegated, parseBounds(cursor, left))
    case 'hasKey':
      return { kind: 'hasKey', operand: left, key: parseRight(cursor, left), at }
    default:
      return unreachable(relation)
  }
}

function compared(
  left: Operand,
  { operator, isNegated }: { readonly operator: Comparator; readonly isNegated: boolean },
  right: Operand,
): Expression {
  return negatedIf(isNegated, { kind: 'compare', operator, left, right, at: left.at })
}

/**
 * Parses the list of IN: an OR of equalities.
 *
 *     list = '(' operand { ',' operand } ')'
 */
function parseList(cursor: LexemeCursor, left: Operand): Expression {
  const open = cursor.expectSymbol('(')
  return cursor.nested(open, () => {
    const equality = (): Expression => compared(left, { operator: '=', isNegated: false }, parseRight(cursor, left))
    const first = equality()
    const operands = [first]
    while (cursor.takeSymbol(',')) operands.push(equality())
    cursor.expectSymbol(')')
    return operands.length === 1 ? first : { kind: 'or', operands, at: left.at }
  })
}

/**
 * Parses the bounds of BETWEEN: both are among the values.
 *
 *     bounds = operand AND operand
 */
function parseBounds(cursor: LexemeCursor, left: Operand): Expression {
  const low = compared(left, { operator: '<', isNegated: true }, parseRight(cursor, left))
  cursor.expectWord('and')
  const high = compared(left, { operator: '>', isNegated: true }, parseRight(cursor, left))
  return { kind: 'and', operands: [low, high], at: left.at }
}

function negatedIf(isNegated: boolean, operand: Expression): Expression {
  return isNegated ? { kind: 'not', operand, at: operand.at } : operand
}

/** Parses the operand after a relation. Double quotes contain a name only if the left side is a literal: one side must be a column. */
function parseRight(cursor: LexemeCursor, left: Operand): Operand {
  const { at } = cursor.peek()
  const right = parsePrimary(cursor)
  if (isCondition(right)) throw unsupported('A comparison with a condition', at)
  if (right.kind !== 'quoted') return right
  return left.kind === 'column' ? { kind: 'text', text: right.text, at: right.at } : toLeftOperand(right)
}

/** `primary = '(' expression ')' | operand` */
function parsePrimary(cursor: LexemeCursor): ParsedOperand | Expression {
  const { at } = cursor.peek()
  if (!cursor.takeSymbol('(')) return parseOperand(cursor)
  return cursor.nested(at, () => {
    const inner = parseConnective(cursor, 0)
    if (cursor.atSymbol(',')) throw unsupported('A row of values', at)
    cursor.expectSymbol(')')
    return inner
  })
}

/**
 * Moves past the signs of a number. Returns the sign that they are together, or undefined, at the same lexeme, if no number follows.
 *
 *     signs = { '+' | '-' }
 */
export function takeSigns(cursor: LexemeCursor): '' | '-' | undefined {
  let count = 0
  let isNegative = false
  for (; ; count++) {
    const { kind, text } = cursor.peek(count)
    if (kind === 'number') break
    if (kind !== 'symbol' || (text !== '+' && text !== '-')) return undefined
    if (text === '-') isNegative = !isNegative
  }
  for (; count > 0; count--) cursor.next()
  return isNegative ? '-' : ''
}

/** `operand = column | text | signs number | TRUE | FALSE | NULL | parameter` */
function parseOperand(cursor: LexemeCursor): ParsedOperand {
  const parameter = cursor.takeParameter()
  if (parameter !== undefined) return parameter
  const { kind, text, at } = cursor.peek()
  const following = cursor.peek(1)
  if (kind === 'text') {
    cursor.next()
    return { kind, text, at }
  }
  if (kind === 'number' || kind === 'symbol') {
    const sign = takeSigns(cursor)
    if (sign === undefined) throw cursor.unexpected(OPERAND)
    const digits = cursor.next()
    // Without a minus it begins at its digits, as a number that is cut out of the text does.
    return { kind: 'number', text: sign + digits.text, at: sign === '' ? digits.at : at }
  }
  const isDotted = following.kind === 'symbol' && following.text === '.'
  if (kind === 'quoted' && !isDotted) {
    cursor.next()
    return { kind, text, at }
  }
  const word = kind === 'word' ? wordLiteral(text, at) : undefined
  if (word !== undefined) {
    cursor.next()
    return word
  }
  if (!cursor.atName()) throw cursor.unexpected(OPERAND)
  return parseColumn(cursor)
}

function wordLiteral(word: string, at: number): Literal | undefined {
  if (word === 'null') return { kind: 'null', at }
  return word === 'true' || word === 'false' ? { kind: 'boolean', value: word === 'true', at } : undefined
}

/** Before an operator, double quotes contain a name. */
function toLeftOperand(operand: ParsedOperand): Operand {
  if (operand.kind !== 'quoted') return operand
  if (operand.text === '') throw new LanguageError('syntax', say`This name is empty.`, operand.at)
  return { kind: 'column', table: undefined, name: foldName(operand.text), at: operand.at }
}

/** Only TRUE, FALSE and NULL are conditions by themselves. For other operands the next lexeme can explain the error, as in `a + 5`. */
function toCondition(cursor: LexemeCursor, node: ParsedOperand | Expression): Expression {
  if (isCondition(node)) return node
  const fault = cursor.unexpected('an operator')
  if (fault.kind === 'unsupported') throw fault
  switch (node.kind) {
    case 'boolean':
      return { kind: 'truth', truth: node.value, at: node.at }
    case 'null':
      return { kind: 'truth', truth: undefined, at: node.at }
    case 'column':
    case 'quoted':
      throw unsupported('A column alone as a condition (write column = TRUE)', node.at)
    case 'text':
    case 'number':
    case 'parameter':
      throw unsupported('A value alone as a condition', node.at)
    default:
      return unreachable(node)
  }
}

function isCondition(node: ParsedOperand | Expression): node is Expression {
  return node.kind in PRECEDENCE
}
