/** Random queries of one caller: what he may read, what he may not, and guesses in every condition. */

import type { Luck } from '../random/draws.ts'
import { below, chance, pick, some } from '../random/draws.ts'
import type { Knowledge, LeakRequest } from './known-values.ts'
import { columnsFor, tableFor, textOf, valueFor } from './known-values.ts'
import type { LeakColumn, LeakTable } from './schemas.ts'

/** A query, most often one that is well formed. */
export function randomQuery(luck: Luck, known: Knowledge): LeakRequest {
  const table = tableFor(luck, known, 'READ')
  const joined = chance(luck, 0.15) ? joinOf(luck, known, table) : ''
  const where = chance(luck, 0.7) ? ` WHERE ${condition(luck, known, table)}` : ''
  const limit = chance(luck, 0.2) ? ` LIMIT ${1 + below(luck, 30)}` : ''
  return { method: 'query', args: [`SELECT ${outputs(luck, known, table)} FROM ${table.name}${joined}${where}${limit}`] }
}

function joinOf(luck: Luck, known: Knowledge, table: LeakTable): string {
  const other = pick(luck, known.tables)
  const left = pick(luck, columnsFor(luck, known, table, 'READ'))
  const right = pick(luck, columnsFor(luck, known, other, 'READ'))
  return ` JOIN ${other.name} AS other ON ${table.name}.${left.name} = other.${right.name}`
}

function outputs(luck: Luck, known: Knowledge, table: LeakTable): string {
  const columns = columnsFor(luck, known, table, 'READ')
  const name = () => `${table.name}.${pick(luck, columns).name}`
  const draw = luck()
  if (draw < 0.15) return '*'
  if (draw < 0.25) return 'COUNT(*)'
  if (draw < 0.4) return `${pick(luck, ['COUNT', 'SUM', 'AVG', 'MIN', 'MAX'])}(${name()})`
  if (draw < 0.5) return `REDACTION(${name()}, '${pick(luck, ['PLAIN_TEXT', 'MASKED', 'REDACTED'])}')`
  const named = some(luck, columns, 1 + below(luck, 3)).map((column) => `${table.name}.${column.name}`)
  return [...(chance(luck, 0.4) ? [`${table.name}.svc_id`] : []), ...named].join(', ')
}

function condition(luck: Luck, known: Knowledge, table: LeakTable): string {
  const one = comparison(luck, known, table, pick(luck, columnsFor(luck, known, table, pick(luck, ['READ', 'SEARCH']))))
  if (chance(luck, 0.2)) return `NOT ${one}`
  return chance(luck, 0.25) ? `${one} ${pick(luck, ['AND', 'OR'])} ${condition(luck, known, table)}` : one
}

function comparison(luck: Luck, known: Knowledge, table: LeakTable, column: LeakColumn): string {
  const place = `${table.name}.${column.name}`
  const draw = luck()
  if (draw < 0.15) return `${place} IS ${chance(luck, 0.5) ? 'NOT ' : ''}NULL`
  const text = textOf(valueFor(luck, known, table, column))
  if (draw < 0.3) return `${place} ${pick(luck, ['LIKE', 'ILIKE'])} ${quoted(`${text.slice(0, 1 + below(luck, 12))}%`)}`
  if (draw < 0.33) return `${place} ? ${quoted(text)}`
  if (draw < 0.36) return `${place} IN (${quoted(text)}, ${quoted(textOf(valueFor(luck, known, table, column)))})`
  return `${place} ${pick(luck, ['=', '=', '=', '=', '<', '>'])} ${quoted(text)}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
