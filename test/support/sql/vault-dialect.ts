/** Prints a query for the vault, in a random spelling of its language. */
import type { ColumnTypeName } from '../../../src/core/values/column-type.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import type { FixtureValue } from './fixture.ts'
import { outputKeys } from './output-keys.ts'
import { type Dialect, isUnambiguous, type Place, quoted } from './print-query.ts'
import type { ColumnTerm, Item, OrderTerm, RandomQuery, Source } from './query-tree.ts'

/** The language of the vault in a random spelling. */
export function vaultDialect(random: SeededRandom, query: Pick<RandomQuery, 'from' | 'joins'>): Dialect {
  const word = (text: string): string => spellWord(random, text)
  return {
    word,
    gap: () => random.pick([' ', ' ', ' ', ' ', '\n', '\t ', ' /* a note; */ ', ' -- a note\n']),
    table: (source) => spellTable(random, source),
    column: (term, place) => spellColumn(random, query, term, place),
    value: (type, value, place) => spellValue(random, type, value, place),
    number: (text) => (text.startsWith('-') || random.chance(0.8) ? text : `${random.pick(['+', '+ ', '- -'])}${text}`),
    like: ({ ignoresCase, isNegated }, left, right) =>
      `${left} ${isNegated ? `${word('not')} ` : ''}${word(ignoresCase ? 'ilike' : 'like')} ${right}`,
    hasKey: (column, key) => `${column} ? ${quoted(key)}`,
    items: ({ items }, column) => {
      const wrapped = (term: ColumnTerm) => (random.chance(0.1) ? `(${column(term)})` : column(term))
      const list = items.map((item) => spellItem(random, item, wrapped)).join(random.pick([', ', ',', ' ,\n']))
      return random.chance(0.1) ? `${word('all')} ${list}` : list
    },
    window: (asked) => spellWindow(random, asked),
  }
}

function spellWord(random: SeededRandom, text: string): string {
  const short = random.chance(0.5) ? text.replace('inner join', 'join').replace('outer join', 'join') : text
  const part = random()
  if (part < 0.5) return short.toUpperCase()
  return part < 0.9 ? short : [...short].map((letter) => (random.chance(0.5) ? letter.toUpperCase() : letter)).join('')
}

/** A name in any case, bare or in quotes. */
function spellName(random: SeededRandom, name: string, mayQuote: boolean): string {
  const cased = random.chance(0.1) ? name.toUpperCase() : name
  return mayQuote && random.chance(0.15) ? quoted(cased, '"') : cased
}

function spellTable(random: SeededRandom, { alias, table }: Source): string {
  const name = spellName(random, table.name, true)
  if (alias === table.name && random.chance(0.8)) return name
  return `${name} ${random.chance(0.5) ? `${spellWord(random, 'as')} ` : ''}${spellName(random, alias, true)}`
}

/** Right of an operator and beside a column, a bare name in double quotes would be a text. */
function spellColumn(
  random: SeededRandom,
  query: Pick<RandomQuery, 'from' | 'joins'>,
  term: ColumnTerm,
  place: Place | undefined,
): string {
  const isQualified = !isUnambiguous(query, term) || random.chance(0.5)
  const mayQuote = isQualified || place?.side !== 'right' || place.other.kind !== 'column'
  const name = spellName(random, term.column.name, mayQuote)
  return isQualified ? `${spellName(random, term.source.alias, true)}.${name}` : name
}

function spellValue(random: SeededRandom, type: ColumnTypeName, value: FixtureValue, place: Place | undefined): string {
  const isBare = type === 'INTEGER' || type === 'FLOAT' || type === 'DECIMAL' || type === 'BOOL'
  if (isBare && random.chance(0.5)) return type === 'BOOL' ? spellWord(random, String(value)) : String(value)
  const text = type === 'DATETIME' ? withOffset(random, String(value)) : String(value)
  const mayDouble = place?.side === 'right' && place.other.kind === 'column'
  return quoted(text, mayDouble && random.chance(0.3) ? '"' : "'")
}

/** The same moment in another time zone. */
function withOffset(random: SeededRandom, moment: string): string {
  const hours = random.pick([0, 0, 2, -5, 14])
  if (hours === 0) return moment
  const [, fraction = ''] = /(\.\d+)Z$/.exec(moment) ?? []
  const shown = new Date(Date.parse(`${moment.slice(0, 19)}Z`) + hours * 3_600_000).toISOString().slice(0, 19)
  return `${shown}${fraction}${hours < 0 ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}:00`
}

function spellItem(random: SeededRandom, item: Item, column: (term: ColumnTerm) => string): string {
  if (item.kind === 'star') return item.source === undefined ? '*' : `${spellName(random, item.source.alias, true)}.*`
  const alias = item.alias === undefined ? '' : ` ${random.chance(0.7) ? `${spellWord(random, 'as')} ` : ''}${item.alias}`
  if (item.kind === 'aggregate') return `${spellWord(random, item.name)}(${spellArgument(random, item)})${alias}`
  if (item.level === undefined) return `${column(item.term)}${alias}`
  return `${spellWord(random, 'redaction')}(${column(item.term)}, ${quoted(item.level, random.pick(["'", '"'] as const))})${alias}`
}

/** The argument as written. The key depends on whether it names the table. */
function spellArgument(random: SeededRandom, { term, isDistinct, isQualified }: Extract<Item, { kind: 'aggregate' }>): string {
  const space = random.chance(0.1) ? ' ' : ''
  if (term === undefined) return `${space}*${space}`
  const table = isQualified ? `${spellName(random, term.source.alias, true)}.` : ''
  return `${space}${isDistinct ? `${spellWord(random, 'distinct')} ` : ''}${table}${spellName(random, term.column.name, true)}${space}`
}

function isSameColumn(one: ColumnTerm, other: ColumnTerm): boolean {
  return one.source === other.source && one.column === other.column
}

/** A term by its column or call, or by the alias of an output. Each bare name of an output is that of its column. */
function spellTerm(random: SeededRandom, query: RandomQuery, { by, direction }: OrderTerm): string {
  // An alias that two outputs share is no key.
  const keys = outputKeys(query) ?? []
  const aliases = query.items.flatMap((item) => {
    const isIt = item.kind === 'column' ? by.kind === 'column' && isSameColumn(item.term, by) : item === by
    return isIt && item.kind !== 'star' && item.alias !== undefined && keys.includes(item.alias.toLowerCase()) ? [item.alias] : []
  })
  const written =
    by.kind === 'column'
      ? spellColumn(random, query, by, undefined)
      : `${spellWord(random, by.name)}(${spellArgument(random, by)})`
  const value = aliases.length > 0 && random.chance(0.5) ? random.pick(aliases) : written
  if (direction === 'desc') return `${value} ${spellWord(random, 'desc')}`
  return random.chance(0.3) ? `${value} ${spellWord(random, 'asc')}` : value
}

function spellWindow(random: SeededRandom, query: RandomQuery): string {
  const { limit, offset } = query
  const terms = query.orderBy.map((term) => spellTerm(random, query, term))
  const order = terms.length === 0 ? '' : ` ${spellWord(random, 'order by')} ${terms.join(', ')}`
  const parts = [
    ...(limit === undefined ? [] : [` ${spellWord(random, 'limit')} ${limit}`]),
    ...(offset === undefined ? [] : [` ${spellWord(random, 'offset')} ${offset}`]),
  ]
  return `${order}${(random.chance(0.5) ? parts : parts.toReversed()).join('')}${random.chance(0.15) ? ';' : ''}`
}
