/** Spells a query for the vault, in any of the ways its language allows. */
import type { ColumnTypeName } from '../../../src/core/values/column-type.ts'
import type { Luck } from '../random/draws.ts'
import { chance, pick } from '../random/draws.ts'
import type { WorldValue } from './fixture.ts'
import type { Dialect, Place } from './print-query.ts'
import { isUnambiguous, quoted } from './print-query.ts'
import type { ColumnTerm, Item, RandomQuery, Source } from './query-tree.ts'

/** The vault's language, its spelling left to luck. */
export function vaultDialect(luck: Luck, query: Pick<RandomQuery, 'from' | 'joins'>): Dialect {
  const word = (text: string): string => spellWord(luck, text)
  return {
    word,
    gap: () => pick(luck, [' ', ' ', ' ', ' ', '\n', '\t ', ' /* a note; */ ', ' -- a note\n']),
    table: (source) => spellTable(luck, source),
    column: (term, place) => spellColumn(luck, query, term, place),
    value: (type, value, place) => spellValue(luck, type, value, place),
    number: (text) => text,
    like: ({ ignoresCase, isNegated }, left, right) =>
      `${left} ${isNegated ? `${word('not')} ` : ''}${word(ignoresCase ? 'ilike' : 'like')} ${right}`,
    hasKey: (column, key) => `${column} ? ${quoted(key)}`,
    items: ({ items }, column) => items.map((item) => spellItem(luck, item, column)).join(pick(luck, [', ', ',', ' ,\n'])),
    window: (asked) => spellWindow(luck, asked),
  }
}

function spellWord(luck: Luck, text: string): string {
  const short = chance(luck, 0.5) ? text.replace('inner join', 'join').replace('outer join', 'join') : text
  const part = luck()
  if (part < 0.5) return short.toUpperCase()
  return part < 0.9 ? short : [...short].map((letter) => (chance(luck, 0.5) ? letter.toUpperCase() : letter)).join('')
}

/** A name in any case, bare or in quotes. */
function spellName(luck: Luck, name: string, mayQuote: boolean): string {
  const cased = chance(luck, 0.1) ? name.toUpperCase() : name
  return mayQuote && chance(luck, 0.15) ? quoted(cased, '"') : cased
}

function spellTable(luck: Luck, { alias, table }: Source): string {
  const name = spellName(luck, table.name, true)
  if (alias === table.name && chance(luck, 0.8)) return name
  return `${name} ${chance(luck, 0.5) ? `${spellWord(luck, 'as')} ` : ''}${spellName(luck, alias, true)}`
}

/** In double quotes on the right of an operator, and beside a column, a bare name would be a text. */
function spellColumn(luck: Luck, query: Pick<RandomQuery, 'from' | 'joins'>, term: ColumnTerm, place: Place | undefined): string {
  const isQualified = !isUnambiguous(query, term) || chance(luck, 0.5)
  const mayQuote = isQualified || place?.side !== 'right' || place.other.kind !== 'column'
  const name = spellName(luck, term.column.name, mayQuote)
  return isQualified ? `${spellName(luck, term.source.alias, true)}.${name}` : name
}

function spellValue(luck: Luck, type: ColumnTypeName, value: WorldValue, place: Place | undefined): string {
  const isBare = type === 'INTEGER' || type === 'FLOAT' || type === 'BOOL'
  if (isBare && chance(luck, 0.5)) return type === 'BOOL' ? spellWord(luck, String(value)) : String(value)
  const text = type === 'DATETIME' ? withOffset(luck, String(value)) : String(value)
  const mayDouble = place?.side === 'right' && place.other.kind === 'column'
  return quoted(text, mayDouble && chance(luck, 0.3) ? '"' : "'")
}

/** The same moment as a clock somewhere else shows it. */
function withOffset(luck: Luck, moment: string): string {
  const hours = pick(luck, [0, 0, 2, -5, 14])
  if (hours === 0) return moment
  const [, fraction = ''] = /(\.\d+)Z$/.exec(moment) ?? []
  const shown = new Date(Date.parse(`${moment.slice(0, 19)}Z`) + hours * 3_600_000).toISOString().slice(0, 19)
  return `${shown}${fraction}${hours < 0 ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}:00`
}

function spellItem(luck: Luck, item: Item, column: (term: ColumnTerm) => string): string {
  if (item.kind === 'star') return item.source === undefined ? '*' : `${spellName(luck, item.source.alias, true)}.*`
  const alias = item.alias === undefined ? '' : ` ${chance(luck, 0.7) ? `${spellWord(luck, 'as')} ` : ''}${item.alias}`
  if (item.kind === 'aggregate') return `${spellWord(luck, item.name)}(${spellArgument(luck, item)})${alias}`
  if (item.level === undefined) return `${column(item.term)}${alias}`
  return `${spellWord(luck, 'redaction')}(${column(item.term)}, ${quoted(item.level, pick(luck, ["'", '"'] as const))})${alias}`
}

/** Whether it names its table is part of the key. */
function spellArgument(luck: Luck, { term, isQualified }: Extract<Item, { kind: 'aggregate' }>): string {
  const space = chance(luck, 0.1) ? ' ' : ''
  if (term === undefined) return `${space}*${space}`
  const table = isQualified ? `${spellName(luck, term.source.alias, true)}.` : ''
  return `${space}${table}${spellName(luck, term.column.name, true)}${space}`
}

function spellWindow(luck: Luck, { limit, offset }: RandomQuery): string {
  const parts = [
    ...(limit === undefined ? [] : [` ${spellWord(luck, 'limit')} ${limit}`]),
    ...(offset === undefined ? [] : [` ${spellWord(luck, 'offset')} ${offset}`]),
  ]
  return `${(chance(luck, 0.5) ? parts : parts.toReversed()).join('')}${chance(luck, 0.15) ? ';' : ''}`
}
