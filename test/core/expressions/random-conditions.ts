/** Random rows and random conditions, each in two spellings: this language and SQLite. */
import type { JsonValue } from '../../../src/core/values/column-type.ts'
import { columnTypes } from '../../../src/core/values/column-types.ts'
import type { SeededRandom } from '../../support/random/seeded-random.ts'
import { COLUMN_TYPES, type SampledType } from './sample-table.ts'

/** A value that a vault accepts. */
export type Input = JsonValue

/** One condition in both spellings. */
export interface Spelled {
  readonly ours: string
  readonly theirs: string
}

/** Few values, so that comparisons match. Some are placed differently by other orders, case foldings and roundings. */
export const POOLS: Readonly<Record<SampledType, readonly Input[]>> = {
  STRING: ['', 'a', 'A', 'ab', 'aB', 'b', 'a%', 'a_b', '10', '9', 'é', 'e\u0301', '\uff5e', '😀', '😀a', "it's", ' a', '\ue000'],
  INTEGER: [
    0,
    1,
    -1,
    2,
    10,
    85,
    86,
    -7,
    '9007199254740993',
    '9007199254740992',
    '-9007199254740993',
    '9223372036854775807',
    '-9223372036854775808',
  ],
  FLOAT: [0, 1, -1, 0.5, 85.5, 2, 10, -2.25, 0.1, 1e15, 5e-324],
  BOOL: [true, false],
  DATE: ['2020-01-01', '2020-02-29', '1999-12-31', '0001-01-01'],
  TIME: ['00:00:00', '12:30:00', '12:30:00.5', '12:30:00.49', '23:59:59.999999999'],
  DATETIME: ['2020-01-01T00:00:00Z', '2020-01-01T00:00:00.5Z', '2019-12-31T23:59:59.999Z', '1970-01-01T00:00:00Z'],
  JSON: [{}, { a: 1 }, { a: null, b: 2 }, { b: {} }, ['a'], 'a', 1, { '😀': 1, __proto__x: 1 }],
  ARRAY: [[], ['a'], [1, 2]],
}

/** A value for each column; about a quarter are null. */
export function drawRow(random: SeededRandom): Record<string, Input> {
  return Object.fromEntries(
    Object.entries(COLUMN_TYPES).map(([name, type]) => [name, random.chance(0.25) ? null : random.pick(POOLS[type])]),
  )
}

/** What a condition can contain. */
export interface Drawing {
  /** Public ids, and strings that are not ids. */
  readonly ids: readonly string[]
  /** ILIKE, which SQLite does not have. */
  readonly foldsCase: boolean
  /** The operator `?`, which plain columns do not support. */
  readonly asksKeys: boolean
}

/** A random condition. */
export function drawCondition(random: SeededRandom, drawing: Drawing, depth = 3): Spelled {
  if (depth === 0 || random.chance(0.3)) return drawPredicate(random, drawing)
  if (random.chance(0.25)) return both(['NOT (', ')'], drawCondition(random, drawing, depth - 1))
  const parts = Array.from({ length: 2 + random.below(2) }, () => drawCondition(random, drawing, depth - 1))
  const word = random.pick([') AND (', ') OR ('])
  return {
    ours: `(${parts.map(({ ours }) => ours).join(word)})`,
    theirs: `(${parts.map(({ theirs }) => theirs).join(word)})`,
  }
}

function drawPredicate(random: SeededRandom, drawing: Drawing): Spelled {
  const draw = random.pick([
    besideLiteral,
    besideLiteral,
    besideLiteral,
    besideColumn,
    like,
    like,
    nullTest,
    keyTest,
    ofId,
    ofLiterals,
    truth,
  ])
  return draw(random, drawing)
}

function same(text: string): Spelled {
  return { ours: text, theirs: text }
}

function both([before, after]: readonly [string, string], { ours, theirs }: Spelled): Spelled {
  return { ours: before + ours + after, theirs: before + theirs + after }
}

function joined(random: SeededRandom, left: Spelled, right: Spelled): Spelled {
  const operator = ` ${random.pick(['=', '<', '>'])} `
  return { ours: left.ours + operator + right.ours, theirs: left.theirs + operator + right.theirs }
}

const COMPARABLE = Object.keys(COLUMN_TYPES).filter((name) => name !== 'j' && name !== 'a')
const TEXTS = ['s', 's2', 'svc_id']

function besideLiteral(random: SeededRandom): Spelled {
  const name = random.pick(COMPARABLE)
  const literal = random.chance(0.05) ? same('NULL') : drawLiteral(random, COLUMN_TYPES[name] ?? 'STRING')
  return random.chance(0.3) ? joined(random, literal, same(name)) : joined(random, same(name), literal)
}

function besideColumn(random: SeededRandom): Spelled {
  const left = random.pick(COMPARABLE)
  const isNumeric = /^[if]/.test(left)
  const others = COMPARABLE.filter((name) => (isNumeric ? /^[if]/.test(name) : name.startsWith(left.charAt(0))))
  return joined(random, same(left), same(random.pick(others)))
}

/** Numbers that no integer column can hold, and spellings of some that it can. */
const BESIDE_INTEGERS = [
  '85.5',
  '-0.5',
  '1e300',
  '-1e300',
  '9223372036854775808',
  '-9223372036854777856',
  '8.5e1',
  '10.0',
  '.1e2',
  '-0',
]

function drawLiteral(random: SeededRandom, type: SampledType): Spelled {
  if (type === 'INTEGER' && random.chance(0.3)) return same(random.pick(BESIDE_INTEGERS))
  const value = random.pick(POOLS[type])
  const text = String(value)
  switch (type) {
    case 'INTEGER':
    case 'FLOAT':
      return random.chance(0.3) ? { ours: quoted(text), theirs: text } : same(text)
    case 'BOOL':
      return { ours: random.chance(0.3) ? quoted(text) : text, theirs: text }
    default: {
      const types = columnTypes[type]
      return { ours: quoted(text), theirs: quoted(String(types.toCell(types.fromText(text)))) }
    }
  }
}

const PATTERNS = ['%', '', 'a%', '%b', '_', '__', '%a%', 'a_%', 'a\\%', 'a\\_b', '\\a%', '😀%', '_a', 'É', 'é', '%\\%%']

function like(random: SeededRandom, { foldsCase }: Drawing): Spelled {
  const not = random.chance(0.2) ? ' NOT' : ''
  const word = foldsCase && random.chance(0.4) ? 'ILIKE' : 'LIKE'
  const pattern = random.chance(0.2) ? random.pick(TEXTS) : quoted(random.pick(PATTERNS))
  const text = `${random.pick(TEXTS)}${not} ${word} ${pattern}`
  return { ours: text, theirs: `${text} ESCAPE '\\'` }
}

function nullTest(random: SeededRandom): Spelled {
  return same(`${random.pick([...Object.keys(COLUMN_TYPES), 'svc_id', 'NULL', "''"])} IS${random.chance(0.5) ? ' NOT' : ''} NULL`)
}

function keyTest(random: SeededRandom, { asksKeys }: Drawing): Spelled {
  if (!asksKeys) return nullTest(random)
  const key = quoted(random.pick(['a', 'b', 'c', '', '0', '😀', 'length', 'toString', '__proto__']))
  const isObject = `json_type(j) = 'object' AND EXISTS (SELECT 1 FROM json_each(j) WHERE key = ${key})`
  return { ours: `j ? ${key}`, theirs: `(CASE WHEN j IS NULL THEN NULL ELSE ${isObject} END)` }
}

function ofId(random: SeededRandom, { ids }: Drawing): Spelled {
  return joined(random, same('svc_id'), same(quoted(random.pick(ids))))
}

function ofLiterals(random: SeededRandom): Spelled {
  const type = random.pick(['STRING', 'FLOAT', 'BOOL'] as const)
  const plain = (): Spelled =>
    same(type === 'STRING' ? quoted(String(random.pick(POOLS.STRING))) : String(random.pick(POOLS[type])))
  return joined(random, plain(), plain())
}

function truth(random: SeededRandom): Spelled {
  return same(random.pick(['TRUE', 'FALSE', 'NULL', 'NULL = NULL']))
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
