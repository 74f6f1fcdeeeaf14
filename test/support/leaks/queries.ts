/** Random queries of one caller: on readable and hidden columns, with guesses in every condition. */

import type { SeededRandom } from '../random/seeded-random.ts'
import { withParameters } from '../sql/with-parameters.ts'
import { columnsFor, type KnownValues, type LeakRequest, tableFor, textOf, valueFor } from './known-values.ts'
import type { LeakColumn, LeakTable } from './schemas.ts'

/** A query; mostly valid. */
export function randomQuery(random: SeededRandom, known: KnownValues): LeakRequest {
  const table = tableFor(random, known, 'READ')
  const joined = random.chance(0.15) ? joinOf(random, known, table) : ''
  const where = random.chance(0.7) ? ` WHERE ${condition(random, known, table)}` : ''
  const limit = random.chance(0.2) ? ` LIMIT ${1 + random.below(30)}` : ''
  const grouped = random.chance(0.15) ? groupsOf(random, known, table) : undefined
  const order = random.chance(0.25) ? orderOf(random, known, table, grouped?.columns) : ''
  const selected = grouped?.items ?? outputs(random, known, table)
  const query = `SELECT ${selected} FROM ${table.name}${joined}${where}${grouped?.clause ?? ''}${order}${limit}`
  const { text, values } = random.chance(0.4) ? withParameters(random, query) : { text: query, values: [] }
  const most = random.chance(0.2)
    ? { budget: { [random.pick(['maxRows', 'maxBytes'])]: random.pick([1, 2, 4, 8, 500, 2000]) } }
    : {}
  const options = { ...most, ...(random.chance(0.05) ? { maxRecords: 1 + random.below(3) } : {}) }
  const given = values.length === 0 ? [text] : [text, values]
  return { method: 'query', args: Object.keys(options).length === 0 ? given : [...given, options] }
}

function joinOf(random: SeededRandom, known: KnownValues, table: LeakTable): string {
  const other = random.pick(known.tables)
  const left = random.pick(columnsFor(random, known, table, 'READ'))
  const right = random.pick(columnsFor(random, known, other, 'READ'))
  return ` JOIN ${other.name} AS other ON ${table.name}.${left.name} = other.${right.name}`
}

/** Groups by readable and hidden columns, with how many rows or values each has. */
function groupsOf(random: SeededRandom, known: KnownValues, table: LeakTable) {
  const columns = random
    .sample(columnsFor(random, known, table, 'READ'), 1 + random.below(2))
    .map(({ name }) => `${table.name}.${name}`)
  const counted = `${table.name}.${random.pick(columnsFor(random, known, table, 'READ')).name}`
  const total = random.pick(['COUNT(*)', `COUNT(${counted})`, `COUNT(DISTINCT ${counted})`, `MAX(${counted})`])
  return { columns, items: `${columns.join(', ')}, ${total} AS total`, clause: ` GROUP BY ${columns.join(', ')}` }
}

function orderOf(random: SeededRandom, known: KnownValues, table: LeakTable, grouped: readonly string[] | undefined): string {
  const names = grouped ?? columnsFor(random, known, table, 'READ').map(({ name }) => `${table.name}.${name}`)
  const terms = random.sample(grouped === undefined ? names : [...names, 'total'], 1 + random.below(2))
  return ` ORDER BY ${terms.map((term) => `${term}${random.pick(['', ' DESC'])}`).join(', ')}`
}

function outputs(random: SeededRandom, known: KnownValues, table: LeakTable): string {
  const columns = columnsFor(random, known, table, 'READ')
  const name = () => `${table.name}.${random.pick(columns).name}`
  const draw = random()
  if (draw < 0.15) return '*'
  if (draw < 0.25) return 'COUNT(*)'
  if (draw < 0.4) return `${random.pick(['COUNT(', 'COUNT(DISTINCT ', 'SUM(', 'AVG(', 'MIN(', 'MAX('])}${name()})`
  if (draw < 0.5) return `REDACTION(${name()}, '${random.pick(['PLAIN_TEXT', 'MASKED', 'REDACTED'])}')`
  const named = random.sample(columns, 1 + random.below(3)).map((column) => `${table.name}.${column.name}`)
  return [...(random.chance(0.4) ? [`${table.name}.svc_id`] : []), ...named].join(', ')
}

function condition(random: SeededRandom, known: KnownValues, table: LeakTable): string {
  const one = comparison(random, known, table, random.pick(columnsFor(random, known, table, random.pick(['READ', 'SEARCH']))))
  if (random.chance(0.2)) return `NOT ${one}`
  return random.chance(0.25) ? `${one} ${random.pick(['AND', 'OR'])} ${condition(random, known, table)}` : one
}

function comparison(random: SeededRandom, known: KnownValues, table: LeakTable, column: LeakColumn): string {
  const place = `${table.name}.${column.name}`
  const draw = random()
  if (draw < 0.15) return `${place} IS ${random.chance(0.5) ? 'NOT ' : ''}NULL`
  const text = textOf(valueFor(random, known, table, column))
  if (draw < 0.3) return `${place} ${random.pick(['LIKE', 'ILIKE'])} ${quoted(`${text.slice(0, 1 + random.below(12))}%`)}`
  if (draw < 0.33) return `${place} ? ${quoted(text)}`
  if (draw < 0.36) return `${place} IN (${quoted(text)}, ${quoted(textOf(valueFor(random, known, table, column)))})`
  if (draw < 0.39) return `${place} BETWEEN ${quoted(text)} AND ${quoted(textOf(valueFor(random, known, table, column)))}`
  return `${place} ${random.pick(['=', '=', '=', '=', '<', '>', '<=', '>=', '<>'])} ${quoted(text)}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
