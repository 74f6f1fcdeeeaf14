/** Random schemas with random rows. They have few different values, so that joins and comparisons match, and include difficult ones. */
import type { ColumnDefinition, CommonOptions, SchemaDefinition } from '../../../src/core/schema/column.ts'
import type { ColumnTypeName, JsonValue } from '../../../src/core/values/column-type.ts'
import type { SeededRandom } from '../random/seeded-random.ts'

/** A value of a fixture: integers are bigints, moments are in UTC with at most six decimals. */
export type FixtureValue = JsonValue | bigint

/** One column. */
export interface FixtureColumn {
  readonly name: string
  readonly type: ColumnTypeName
  readonly definition: ColumnDefinition
}

/** One table and its rows in the order they are inserted. */
export interface FixtureTable {
  readonly name: string
  readonly columns: readonly FixtureColumn[]
  readonly rows: readonly (readonly FixtureValue[])[]
}

/** Some tables, and what other engines cannot process in them. */
export interface Fixture {
  readonly tables: readonly FixtureTable[]
  /** The values columns of each type hold. */
  readonly pools: Readonly<Record<ColumnTypeName, readonly FixtureValue[]>>
  /** Texts hold NUL, which PostgreSQL rejects and at which LIKE of SQLite stops. */
  readonly hasNul: boolean
  /** Texts hold backslashes: as a pattern, a text may end in a lone one. */
  readonly hasBackslash: boolean
  /** Numbers are so big, or so far apart, that sums depend on their order and doubles lose digits. */
  readonly isWide: boolean
  /** A table has more rows than a page of storage: joins of three would take too long. */
  readonly isTall: boolean
  /** Queries use sealed indexes wherever they can. */
  readonly usesIndexes: boolean
}

/** Texts that are easily confused: by case, by white space, by what they look like, by Unicode's forms and by UTF-16's order. */
const TEXTS: readonly string[] = [
  ...['', ' ', 'a', 'A', 'ab', 'Ab', 'aB', 'abc', 'b', 'a ', ' a', 'a b', 'z', '0', '1', '10', '2', '-1', 'null', 'NULL', 'true'],
  ...['%', '_', 'a%', '%a', 'a_c', "'", "''", '"', "it's", '--', '/*', ';', '?', '*', 'a\nb', '\t'],
  ...['é', 'e\u0301', 'É', 'ß', 'ss', 'ñ', 'Ω', '\u2126', 'Ж', 'ж', '日本', '\u00a0', 'I', 'i', 'İ', 'ı'],
]
/** Texts that UTF-16 units and code points order differently. */
const HIGH_TEXTS: readonly string[] = ['😀', '\uff5e', '\ue000', '\u{10ffff}', '😀a', 'a😀b', 'a\uff5eb', '\uffee']
const BACKSLASHED: readonly string[] = ['\\', 'a\\', '\\%', 'a\\b', '\\\\', 'C:\\x_y']
const WITH_NUL: readonly string[] = ['\0', 'a\0', 'a\0b', '\0a', 'a\u0001']

const INTEGERS: readonly bigint[] = [0n, 1n, -1n, 2n, 3n, 5n, 10n, 42n, -7n, 100n, 1000n]
const WIDE_INTEGERS: readonly bigint[] = [
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 53n + 1n,
  -(2n ** 53n) - 1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
]
/** Numbers of the scale of every DECIMAL column. */
const DECIMALS: readonly string[] = ['0.00', '1.00', '-1.00', '0.50', '1.50', '-2.25', '42.00', '0.10', '10.01', '100.00']
const WIDE_DECIMALS: readonly string[] = ['9999999999999999.99', '-9999999999999999.99', '90071992547409.93', '0.01']
const FLOATS: readonly number[] = [0, 1, -1, 0.5, 1.5, 2, -2.25, 3, 10, 42, 0.1, 100.75]
const WIDE_FLOATS: readonly number[] = [1e300, -1e300, 5e-324, 1e15, 2 ** 53, 9007199254740994, 1e-7, 0.30000000000000004]
const DATES: readonly string[] = ['2020-01-01', '2020-02-29', '1999-12-31', '0001-01-01', '9999-12-31', '2020-01-02']
const TIMES: readonly string[] = ['00:00:00', '12:30:00', '12:30:00.5', '12:30:00.499999', '23:59:59.999999', '09:00:00']
const MOMENTS: readonly string[] = [
  ...['2020-01-01T00:00:00Z', '2020-01-01T00:00:00.5Z', '2019-12-31T23:59:59.999999Z', '2020-02-29T12:00:00Z'],
  ...['0001-01-02T00:00:00Z', '9999-12-30T23:59:59Z', '1970-01-01T00:00:00.000001Z'],
]
const JSONS: readonly JsonValue[] = [
  {},
  { a: 1 },
  { a: null, b: [1, 2] },
  { é: 'x', 'a b': {} },
  { A: { a: 1 } },
  [1, 'a'],
  'a',
  1.5,
  true,
]
const ARRAYS: readonly JsonValue[] = [[], [1, 2], ['a'], [null, {}], [[1]]]

/** Names that are words of the language elsewhere, or nearly so. */
const COLUMN_NAMES =
  'a b c d id name value count sum min redaction key date time type level first_name x1 text body version'.split(' ')
const TABLE_NAMES = ['t', 'u', 'people', 'orders', 'records', 'data_1', 'max']

/** Column types; difficult types are listed more often. */
const TYPES: readonly ColumnTypeName[] = [
  ...(['STRING', 'STRING', 'STRING', 'INTEGER', 'INTEGER', 'INTEGER', 'FLOAT', 'FLOAT', 'DECIMAL', 'DECIMAL'] as const),
  ...(['BOOL', 'DATE', 'TIME', 'DATETIME', 'DATETIME', 'JSON', 'ARRAY'] as const),
]

const MAX_ROWS = 14
/** Beyond the first page a scan asks for, and so many that a sealed index costs less. */
const TALL_ROWS = 700

/** Draws a fixture of one to three tables. */
export function drawFixture(random: SeededRandom): Fixture {
  const hasNul = random.chance(0.1)
  const hasBackslash = random.chance(0.2)
  const isWide = random.chance(0.25)
  const isTall = random.chance(0.05)
  const texts = [
    ...random.sample(TEXTS, 4 + random.below(8)),
    ...(random.chance(0.3) ? random.sample(HIGH_TEXTS, 4) : []),
    ...(hasBackslash ? random.sample(BACKSLASHED, 3) : []),
    ...(hasNul ? WITH_NUL : []),
  ]
  const pools = {
    STRING: texts,
    INTEGER: [...random.sample(INTEGERS, 5), ...(isWide ? random.sample(WIDE_INTEGERS, 4) : [])],
    DECIMAL: [...random.sample(DECIMALS, 5), ...(isWide ? random.sample(WIDE_DECIMALS, 3) : [])],
    FLOAT: [...random.sample(FLOATS, 5), ...(isWide ? random.sample(WIDE_FLOATS, 4) : [])],
    BOOL: [true, false],
    DATE: random.sample(DATES, 4),
    TIME: random.sample(TIMES, 4),
    DATETIME: random.sample(MOMENTS, 4),
    JSON: random.sample(JSONS, 5),
    ARRAY: random.sample(ARRAYS, 3),
  }
  const names = random.sample(TABLE_NAMES, 1 + random.below(3))
  // All columns of the group have equal definitions, in all tables.
  const normalize = random.chance(0.3) ? { normalize: ['trim', 'lowercase'] as const } : {}
  const tables = names.map((name, at) => drawTable(random, name, { pools, normalize, isTall: isTall && at === 0 }))
  return { tables, pools, hasNul, hasBackslash, isWide, isTall, usesIndexes: random.chance(0.5) }
}

interface Making {
  readonly pools: Fixture['pools']
  readonly normalize: { readonly normalize?: readonly ('trim' | 'lowercase')[] }
  readonly isTall: boolean
}

function drawTable(random: SeededRandom, name: string, making: Making): FixtureTable {
  const columns = random.sample(COLUMN_NAMES, 2 + random.below(5)).map((column) => drawColumn(random, column, making))
  const nulls = random() * 0.5
  const count = making.isTall ? TALL_ROWS : random.chance(0.07) ? 0 : 1 + random.below(MAX_ROWS)
  const rows = Array.from({ length: count }, () =>
    columns.map(({ type }) => (random.chance(nulls) ? null : random.pick(making.pools[type]))),
  )
  return { name, columns, rows }
}

function drawColumn(random: SeededRandom, name: string, { normalize }: Making): FixtureColumn {
  const type = random.pick(TYPES)
  const shown = { redaction: 'PLAIN_TEXT' } as const
  const found = type !== 'JSON' && type !== 'ARRAY' && random.chance(0.5) ? ({ index: 'sealed' } as const) : {}
  const keeping = random.chance(0.4)
    ? { encrypted: false, index: type !== 'JSON' && type !== 'ARRAY' && random.chance(0.4) }
    : { searchable: random.chance(0.5), ...found, ...(random.chance(0.15) ? { token: 'deterministic' as const } : {}) }
  if (type === 'STRING' && random.chance(0.4)) {
    // Two columns of one group have digests that can be compared with each other.
    const options = { ...shown, ...found, searchable: true, columnGroup: 'texts', ...normalize }
    return { name, type, definition: withContains(random, { type, ...options }) }
  }
  return { name, type, definition: withContains(random, definitionOf(type, { ...shown, ...keeping })) }
}

/** A definition, whose sealed index also finds what texts contain, or only that. */
function withContains(random: SeededRandom, definition: ColumnDefinition): ColumnDefinition {
  if (definition.type !== 'STRING' || definition.index !== 'sealed' || random.chance(0.3)) return definition
  return { ...definition, index: { sealed: random.chance(0.5) ? ['order', 'contains'] : ['contains'] } }
}

/** A definition of a type. All DECIMAL columns have one scale. */
export function definitionOf(type: ColumnTypeName, options: CommonOptions): ColumnDefinition {
  return type === 'DECIMAL' ? { type, scale: 2, ...options } : { type, ...options }
}

/** The schema of a fixture. */
export function schemaOf({ tables }: Fixture): SchemaDefinition {
  return Object.fromEntries(
    tables.map(({ name, columns }) => [name, Object.fromEntries(columns.map((column) => [column.name, column.definition]))]),
  )
}

/** A value as input of a vault. */
export function toInput(value: FixtureValue): JsonValue {
  return typeof value === 'bigint' ? value.toString() : value
}
