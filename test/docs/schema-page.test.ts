/** docs/schema.md has every column type, and every option with the types that take it, every reserved word, mask and token kind. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { mask } from '../../src/core/redaction.ts'
import { RESERVED_WORDS } from '../../src/core/schema/names.ts'
import { tokenKinds } from '../../src/core/tokens/token-kinds.ts'
import { columnTypes } from '../../src/core/values/column-types.ts'
import { normalizers } from '../../src/core/values/normalizers.ts'
import { type ColumnDefinition, column, defineSchema } from '../../src/index.ts'

const TOP = new URL('../..', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, TOP), 'utf8')
const page = read('docs/schema.md')
const TYPES = [...Object.keys(columnTypes), 'FILE']

/** The cells of the rows of a section whose first cell matches. */
function rowsOf(section: string, first: RegExp): string[][] {
  const text = page.match(new RegExp(`\\n## ${section}\\n.*?(?=\\n## |$)`, 's'))?.[0] ?? ''
  const rows = [...text.matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) => row.split(' | '))
  return rows.filter(([cell = '']) => first.test(cell))
}

/** A value of each option that is valid where the option is. */
const SAMPLES: Readonly<Record<string, (type: string) => object>> = {
  required: () => ({ required: true }),
  unique: () => ({ unique: true }),
  encrypted: () => ({ encrypted: false }),
  'index: true': () => ({ index: true, encrypted: false }),
  "index: 'sealed'": () => ({ index: 'sealed' }),
  searchable: () => ({ searchable: true }),
  redaction: () => ({ redaction: 'PLAIN_TEXT' }),
  mask: () => ({ mask: { preset: 'keepFirst', count: 1 } }),
  token: () => ({ token: 'random' }),
  columnGroup: () => ({ columnGroup: 'all_of_them' }),
  requires: () => ({ requires: ['purpose'] }),
  pattern: () => ({ pattern: 'a+' }),
  maxLength: () => ({ maxLength: 10 }),
  oneOf: (type) => ({ oneOf: type === 'STRING' ? ['a'] : type === 'DECIMAL' ? ['1.00'] : [1] }),
  normalize: () => ({ normalize: ['trim'] }),
  allowedTypes: () => ({ allowedTypes: ['image/png'] }),
  scale: () => ({ scale: 2 }),
  maxBytes: () => ({ maxBytes: 1 }),
}

function isAccepted(type: string, options: object): boolean {
  try {
    // The test tries options that no definition of the type has.
    defineSchema({
      samples: { one: { ...(type === 'DECIMAL' ? { scale: 2 } : {}), ...options, type } as unknown as ColumnDefinition },
    })
    return true
  } catch {
    return false
  }
}

/** The types that a cell names: `all`, `all but FILE`, `STRING, INTEGER`. */
function typesIn(cell: string): string[] {
  const named = [...cell.matchAll(/[A-Z]{3,}/g)].map(([name]) => name)
  return cell.startsWith('all') ? TYPES.filter((type) => !named.includes(type)) : named
}

/** The table of options: each has its types in the second cell. */
const OPTION_ROWS = rowsOf('Options', /^`\w+(: [\w']+)?`$/).filter(([, types = '']) => /^all|^[A-Z]{4}/.test(types))

it('has one row for each column type, with its builder', () => {
  const builders = Object.entries<(options: { readonly scale: number }) => { readonly type: string }>(column).map(
    ([name, build]) => [build({ scale: 2 }).type, `\`column.${name}\``],
  )
  expect(builders.map(([type]) => type).sort()).toEqual([...TYPES].sort())
  expect(rowsOf('Types', /^[A-Z]+$/).map(([type, builder]) => [type, builder])).toEqual(
    TYPES.map((type) => [type, builders.find(([of]) => of === type)?.[1]]),
  )
})

it('has one row for each option of the code', () => {
  const source = read('src/core/schema/column.ts')
  const interfaces = [...source.matchAll(/export interface (?:Common|String|Integer|Decimal|File)Options.*?\n}/gs)]
  const members = interfaces.flatMap(([text]) => [...text.matchAll(/^ {2}readonly (\w+)/gm)].map(([, name = '']) => name))
  const names = [...new Set(members)].sort()
  expect(names).toContain('columnGroup')
  const rows = OPTION_ROWS.map(([cell = '']) => cell.replaceAll('`', ''))
  expect(rows.sort()).toEqual(Object.keys(SAMPLES).sort())
  // An option with values of different meanings has a row for each.
  expect([...new Set(rows.map((row) => row.replace(/:.*/, '')))].sort()).toEqual(names)
})

it.each(OPTION_ROWS)('gives the types that take %s: %s', (cell = '', types = '') => {
  const sample = SAMPLES[cell.replaceAll('`', '')]
  const taking = TYPES.filter((type) => sample !== undefined && isAccepted(type, sample(type)))
  expect(taking).toEqual(TYPES.filter((type) => typesIn(types).includes(type)))
})

it('names every reserved word, and no other', () => {
  const text = page.match(/words of the query language:(.*?)\. So/s)?.[1] ?? ''
  expect([...text.matchAll(/`(\w+)`/g)].map(([, word]) => word).sort()).toEqual([...RESERVED_WORDS].sort())
})

it('names every mask, normalizer and token kind', () => {
  for (const name of Object.keys(mask)) expect(page).toContain(`mask.${name}`)
  for (const name of [...Object.keys(normalizers), ...Object.keys(tokenKinds)]) expect(page).toContain(`\`${name}\``)
})
