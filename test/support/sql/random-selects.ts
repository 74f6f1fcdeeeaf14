/** Random queries by the grammar, for the parser: random trees, random spellings of their texts, and random damage. */
import { isDeepStrictEqual } from 'node:util'
import type { ColumnIdentifier, Expression, Literal, Operand, Parameter } from '../../../src/core/expressions/ast.ts'
import { lex } from '../../../src/core/expressions/lexer.ts'
import { RESERVED_WORDS } from '../../../src/core/schema/names.ts'
import { parseSelect } from '../../../src/core/sql/parse-select.ts'
import type { AggregateCall, FromTable, Join, OrderBy, ParsedSelect, SelectItem } from '../../../src/core/sql/select.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import { printSelect } from './print-select.ts'

/** A random tree in the form that the parser returns: flat AND and OR, names in lower case. Every position is 0. */
export function randomSelect(random: SeededRandom): ParsedSelect {
  const depth = random.below(4)
  return {
    items: list(random, 3, () => randomItem(random)),
    from: randomTable(random),
    joins: random.chance(0.6) ? [] : list(random, 3, () => randomJoin(random)),
    where: random.chance(0.2) ? undefined : randomCondition(random, depth),
    groupBy: random.chance(0.8) ? [] : list(random, 3, () => randomColumn(random)),
    orderBy: random.chance(0.7) ? [] : list(random, 3, () => randomTerm(random)),
    limit: random.chance(0.7) ? undefined : randomBound(random, 100),
    offset: random.chance(0.7) ? undefined : randomBound(random, 2 ** 40),
  }
}

/** A random condition, at most so many levels deep. */
export function randomCondition(random: SeededRandom, depth: number): Expression {
  const roll = depth === 0 ? 1 : random()
  if (roll < 0.25) return { kind: 'not', operand: randomCondition(random, depth - 1), at: 0 }
  if (roll < 0.7) return randomChain(random, depth)
  return randomPredicate(random)
}

/** The same query in another spelling: other blanks, comments and case, and signs without meaning. */
export function dress(random: SeededRandom, text: string): string {
  const pieces = lex(text).map(({ kind, text: piece }) => {
    if (kind === 'text') return `'${piece.replaceAll("'", "''")}'`
    if (kind === 'quoted') return `"${randomCase(random, piece).replaceAll('"', '""')}"`
    if (kind === 'parameter') return `$${piece}`
    if (kind === 'number' && random.chance(0.2)) return random.pick([' +', ' + ', ' - -']) + piece
    return kind === 'word' ? randomCase(random, piece) : piece
  })
  return `${pieces.map((piece) => piece + random.pick(GAPS)).join('')}${random.pick(['', ' ;', ';;', ' -- end'])}`
}

/** A text with one to three things broken in it. */
export function damage(random: SeededRandom, text: string): string {
  let damaged = text
  for (let blows = 1 + random.below(3); blows > 0; blows--) {
    const from = random.below(damaged.length + 1)
    const to = Math.min(damaged.length, from + random.below(8))
    const middle = random.pick(['', damaged.slice(from, to).repeat(2), random.pick(SNIPPETS), ` ${random.pick(SNIPPETS)} `])
    damaged = damaged.slice(0, from) + middle + damaged.slice(random.chance(0.5) ? from : to)
  }
  return damaged
}

/** A meaningless sequence of SQL pieces and characters. */
export function randomText(random: SeededRandom): string {
  const length = random.below(40)
  const blank = random.chance(0.5) ? ' ' : ''
  const begin = random.chance(0.5) ? 'SELECT ' : ''
  const character = () => String.fromCodePoint(Math.floor(random() ** 3 * 0x3000))
  return begin + Array.from({ length }, () => (random.chance(0.8) ? random.pick(SNIPPETS) : character())).join(blank)
}

/** A tree without its offsets, for texts that differ only in blanks. */
export function withoutPlaces(tree: unknown): unknown {
  if (Array.isArray(tree)) return tree.map(withoutPlaces)
  if (typeof tree !== 'object' || tree === null) return tree
  return Object.fromEntries(
    Object.entries(tree).flatMap(([member, value]) => (member === 'at' ? [] : [[member, withoutPlaces(value)] as const])),
  )
}

/** Throws unless a tree prints to a text that reads to the same tree, however that text is dressed. */
export function assertRoundTrip(random: SeededRandom, tree: ParsedSelect): void {
  const text = printSelect(tree)
  for (const spelling of [text, dress(random, text), printSelect(tree, { isExtended: true })]) {
    const read = withoutPlaces(parseSelect(spelling))
    if (isDeepStrictEqual(read, withoutPlaces(tree))) continue
    throw new Error(`${spelling}\nreads to ${JSON.stringify(read)}\ninstead of ${JSON.stringify(tree)}`)
  }
}

const SIMPLE_NAMES = ['a', 'b', 'c1', 'name', 'key', 'date', 'value', 'type', 'min', 'count', 'redaction', 't', '_x', 'text']
const ODD_NAMES = ['order', 'select', 'hello world', 'a"b', "it's", '1st', 'ünï', '--', 'a.b', 'null', '%']
const TEXTS = ['', 'x', "O'Brien", 'a"b', '%a_', '\\', '-- no', '/* no */', '日本', '🦆', ';', 'NULL', '2020-01-01', '\n\t']
const NUMBERS = [
  '0',
  '-0',
  '-0.0',
  '1',
  '-1',
  '42',
  '007',
  '1.5',
  '-.5',
  '1.',
  '1e3',
  '-2.5E-7',
  '9007199254740993',
  '123456789012345678901234567890',
]
const GAPS = [' ', ' ', ' ', '  ', '\n', '\t ', ' /* c */ ', '/**/ ', ' -- c\n', ' /* a /* b */ c */ ', '\r\n', '\f\v']
const SNIPPETS = [
  ...[
    'SELECT',
    'FROM',
    'WHERE',
    'AND',
    'OR',
    'NOT',
    'LIKE',
    'ILIKE',
    'IS',
    'NULL',
    'NOTNULL',
    'TRUE',
    'FALSE',
    'JOIN',
    'LEFT',
    'FULL',
  ],
  ...[
    'OUTER',
    'INNER',
    'ON',
    'AS',
    'LIMIT',
    'OFFSET',
    'COUNT',
    'SUM(',
    'REDACTION(',
    'IN',
    'BETWEEN',
    'ORDER BY',
    'GROUP BY',
    'UNION',
  ],
  ...[
    'DISTINCT',
    'USING',
    'CROSS',
    'FOR',
    'INTO',
    'a',
    'b',
    't',
    't.a',
    '*',
    '(',
    ')',
    ',',
    '.',
    ';',
    '=',
    '<',
    '>',
    '?',
    '<=',
    '<>',
    'IN (',
    'BETWEEN 1 AND',
    'NOT IN (1,',
    'DESC',
    'ORDER BY a',
    'GROUP BY a',
    'COUNT(DISTINCT a)',
  ],
  ...[
    '-',
    '+',
    '||',
    '::',
    '--',
    '/*',
    '*/',
    "'",
    '"',
    "'x'",
    '"a"',
    '""',
    "''",
    '0',
    '1',
    '-1',
    '.5',
    '1e3',
    '1.',
    '$1',
    '$20',
    '$0',
    '$',
    '[',
    ']',
    '\\',
  ],
]

function list<Thing>(random: SeededRandom, max: number, make: () => Thing): readonly Thing[] {
  return Array.from({ length: 1 + random.below(max) }, make)
}

function randomCase(random: SeededRandom, word: string): string {
  return word.replace(/[a-z]/g, (letter) => (random.chance(0.3) ? letter.toUpperCase() : letter))
}

function randomItem(random: SeededRandom): SelectItem {
  const at = 0
  const column = randomColumn(random)
  const alias = random.chance(0.6) ? undefined : random.pick([...SIMPLE_NAMES, ...ODD_NAMES])
  const roll = random()
  if (roll < 0.15) return { kind: 'star', table: random.chance(0.5) ? undefined : random.pick(SIMPLE_NAMES), at }
  if (roll < 0.6) return { kind: 'value', column, alias, at }
  if (roll < 0.75) return { kind: 'redaction', column, level: { kind: 'text', text: random.pick(TEXTS), at }, alias, at }
  return { kind: 'aggregate', ...randomCall(random), alias }
}

function randomCall(random: SeededRandom): AggregateCall {
  const name = random.pick(['avg', 'sum', 'count', 'min', 'max'] as const)
  if (name === 'count' && random.chance(0.4)) return { name, column: undefined, isDistinct: false, text: 'count(*)', at: 0 }
  const column = randomColumn(random)
  const written = column.table === undefined ? column.name : `${column.table}.${column.name}`
  const isDistinct = name === 'count' && random.chance(0.5)
  return { name, column, isDistinct, text: `${name}(${isDistinct ? 'distinct ' : ''}${written})`, at: 0 }
}

function randomTerm(random: SeededRandom): OrderBy {
  const by = random.chance(0.7) ? randomColumn(random) : randomCall(random)
  return { by, direction: random.pick(['asc', 'desc'] as const), at: 0 }
}

function randomTable(random: SeededRandom): FromTable {
  const table = random.pick([...SIMPLE_NAMES, ...ODD_NAMES])
  return { table, alias: random.chance(0.5) ? table : random.pick([...SIMPLE_NAMES, ...ODD_NAMES]), at: 0 }
}

function randomJoin(random: SeededRandom): Join {
  const kind = random.pick(['inner', 'left', 'right', 'full'] as const)
  return { kind, table: randomTable(random), on: randomCondition(random, 1), at: 0 }
}

function randomColumn(random: SeededRandom): ColumnIdentifier {
  const table = random.chance(0.6) ? undefined : random.pick([...SIMPLE_NAMES, ...ODD_NAMES])
  return { kind: 'column', table, name: random.pick([...SIMPLE_NAMES, ...ODD_NAMES]), at: 0 }
}

function randomLiteral(random: SeededRandom): Literal {
  const roll = random()
  if (roll < 0.1) return { kind: 'null', at: 0 }
  if (roll < 0.2) return { kind: 'boolean', value: random.chance(0.5), at: 0 }
  return roll < 0.6 ? { kind: 'text', text: random.pick(TEXTS), at: 0 } : { kind: 'number', text: random.pick(NUMBERS), at: 0 }
}

function randomParameter(random: SeededRandom): Parameter {
  return { kind: 'parameter', number: 1 + random.below(30), at: 0 }
}

function randomBound(random: SeededRandom, below: number): number | Parameter {
  return random.chance(0.2) ? randomParameter(random) : random.below(below)
}

function randomOperand(random: SeededRandom): Operand {
  if (random.chance(0.6)) return randomColumn(random)
  return random.chance(0.2) ? randomParameter(random) : randomLiteral(random)
}

/** An operand after an operator, where a name in double quotes beside a column would be a text. */
function randomRight(random: SeededRandom, left: Operand): Operand {
  const right = randomOperand(random)
  const isMistakable = left.kind === 'column' && right.kind === 'column' && right.table === undefined
  const isBare = right.kind === 'column' && SIMPLE_NAMES.includes(right.name) && !RESERVED_WORDS.has(right.name)
  return isMistakable && !isBare ? randomLiteral(random) : right
}

/** What an operator of the extensions is parsed to. */
function randomExtension(random: SeededRandom, left: Operand): Expression {
  const compare = (operator: '=' | '<' | '>'): Expression => ({
    ...{ kind: 'compare', operator, left, right: randomRight(random, left), at: 0 },
  })
  const not = (operand: Expression): Expression => ({ kind: 'not', operand, at: 0 })
  const one = random.pick([
    () => not(compare(random.pick(['=', '<', '>'] as const))),
    () => ({ kind: 'or' as const, operands: list(random, 3, () => compare('=')), at: 0 }),
    () => ({ kind: 'and' as const, operands: [not(compare('<')), not(compare('>'))], at: 0 }),
  ])()
  const [only] = one.kind === 'or' && one.operands.length === 1 ? one.operands : []
  return random.chance(0.3) ? not(only ?? one) : (only ?? one)
}

function randomChain(random: SeededRandom, depth: number): Expression {
  const kind = random.pick(['and', 'or'] as const)
  const operands = [0, ...list(random, 3, () => 0)].map(() => randomCondition(random, depth - 1))
  return { kind, operands: operands.flatMap((operand) => (operand.kind === kind ? operand.operands : [operand])), at: 0 }
}

function randomPredicate(random: SeededRandom): Expression {
  const left = randomOperand(random)
  const right = randomRight(random, left)
  const roll = random()
  if (roll < 0.05) return { kind: 'truth', truth: random.chance(0.3) ? undefined : random.chance(0.5), at: 0 }
  if (roll < 0.2) return { kind: 'isNull', operand: left, at: 0 }
  if (roll < 0.3) return { kind: 'hasKey', operand: left, key: right, at: 0 }
  if (roll < 0.5) return { kind: 'like', ignoresCase: random.chance(0.5), left, right, at: 0 }
  if (roll < 0.6) return randomExtension(random, left)
  return { kind: 'compare', operator: random.pick(['=', '<', '>'] as const), left, right, at: 0 }
}
