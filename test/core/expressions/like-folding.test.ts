/** Tests that ILIKE folds code points as PostgreSQL does without a language. */
import pg from 'pg'
import { expect, inject, it } from 'vitest'
import { createMatcher } from '../../../src/core/expressions/like.ts'

it('folds every code point that the server knows as it does', async () => {
  const client = new pg.Client({ connectionString: inject('postgresUrl') })
  await client.connect()
  try {
    const { rows } = await client.query<{ point: string; folded: string }>(
      `select chr(n) as point, lower(chr(n) collate "pg_c_utf8") as folded from generate_series(128, 1114111) as n
        where n not between 55296 and 57343 and unicode_assigned(chr(n))`,
    )
    expect(rows.length).toBeGreaterThan(100_000)
    const different = rows.filter(
      ({ point, folded }) => !createMatcher(point, true)(folded) || isFolded(point) !== (point !== folded),
    )
    expect(different).toEqual([])
    const [dotted] = (await client.query<{ is: boolean }>(`select 'İ' ilike 'i' collate "pg_c_utf8" as is`)).rows
    expect([dotted?.is, createMatcher('i', true)('İ')]).toEqual([true, true])
  } finally {
    await client.end()
  }
})

/** True if a code point folds to another one: its lower case then begins with that. */
function isFolded(point: string): boolean {
  return [...point.toLowerCase()][0] !== point
}
