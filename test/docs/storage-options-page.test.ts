/** docs/storage-options.md has every option of the storages, and every table that a vault makes beside its records. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { ID_COUNTERS } from '../../src/adapters/sqlite/prepare-tables.ts'
import { CATALOG, SYSTEM_TABLES } from '../../src/core/schema/system-tables.ts'

const TOP = new URL('../..', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, TOP), 'utf8')
const page = read('docs/storage-options.md')

it.each([
  ['src/adapters/sqlite/sqlite-storage.ts', 'SqliteOptions', 'filename'],
  ['src/adapters/postgres/postgres-storage.ts', 'PostgresOptions', 'schema'],
])('has the options of %s', (path, name, known) => {
  const members = read(path).match(new RegExp(`export interface ${name} .*?\\n}`, 's'))?.[0] ?? ''
  const options = [...members.matchAll(/^ {2}readonly (\w+)/gm)].map(([, option]) => option)
  expect(options).toContain(known)
  const section = page.match(/\n## Options\n.*?\n## /s)?.[0] ?? ''
  for (const option of options) expect(section).toMatch(new RegExp(`^\\| .*\`${option}\``, 'm'))
})

it('names the tables of the vault', () => {
  for (const { name } of [CATALOG, ...SYSTEM_TABLES]) expect(page).toContain(`\`${name}\``)
  expect(page).toContain(`\`${ID_COUNTERS}\``)
})
