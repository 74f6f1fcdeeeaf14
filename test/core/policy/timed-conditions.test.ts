/** An opening warns of conditions that open sealed columns in every row, because times of reads can then show their values. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { PolicyDefinition } from '../../../src/core/policy/statement.ts'
import type { Log } from '../../../src/core/ports/observability.ts'
import { column } from '../../../src/index.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'

const TABLES = {
  staff: {
    salary: column.integer(),
    grade: column.string({ searchable: true }),
    badge: column.string({ unique: true }),
    tags: column.json(),
    region: column.string({ encrypted: false }),
  },
}

/** The warnings of an opening with this policy. */
async function warningsOf(policy: PolicyDefinition): Promise<{ fields: object; message: string }[]> {
  const warnings: { fields: object; message: string }[] = []
  const log: Log = { info: () => {}, error: () => {}, warn: (fields, message) => warnings.push({ fields, message }) }
  const { vault } = await openLoose(memoryStorage(), TABLES, { policy, log })
  for (const role of Object.keys(policy)) vault.as({ actor: 'a', actorType: 'USER', roles: [role] })
  await vault.close()
  return warnings
}

const opened = async (...statements: readonly string[]) =>
  (await warningsOf({ clerk: statements })).map(({ fields }) => Reflect.get(fields, 'column') as unknown)

it('names role, table and column once in an opening, and no value', async () => {
  const policy = {
    clerk: [
      'ALLOW READ ON staff.* WHERE salary > 4711',
      'ALLOW UPDATE ON staff.* WHERE salary < 4711',
      'ALLOW READ ON staff.region',
    ],
    head: ['ALLOW READ ON staff.* WHERE salary > ctx.floor'],
  }
  const warnings = await warningsOf(policy)
  expect(warnings.map(({ fields }) => fields)).toEqual([
    { role: 'clerk', table: 'staff', column: 'salary' },
    { role: 'head', table: 'staff', column: 'salary' },
  ])
  expect(JSON.stringify(warnings)).not.toContain('4711')
  expect(warnings[0]?.message).toContain('searchable')
})

it('says nothing of what storage decides: plain columns, and the equality of a searchable one', async () => {
  expect(
    await opened(
      "ALLOW READ ON staff.* WHERE region LIKE 'n%' OR region > ctx.region",
      "ALLOW UPDATE ON staff.* WHERE grade = ctx.grade AND (badge = '7' OR badge IS NULL)",
      "ALLOW DELETE ON staff.* WHERE NOT (region = 'south')",
      'ALLOW CREATE ON staff.*',
    ),
  ).toEqual([])
})

it.each([
  ['ALLOW READ ON staff.* WHERE salary = 1', 'salary'],
  ['ALLOW READ ON staff.* WHERE salary IS NOT NULL', 'salary'],
  ["ALLOW READ ON staff.* WHERE region = 'n' AND salary < 1", 'salary'],
  ["ALLOW READ ON staff.* WHERE grade LIKE 'a%'", 'grade'],
  ["ALLOW READ ON staff.* WHERE grade > 'a'", 'grade'],
  ["ALLOW READ ON staff.* WHERE NOT (grade = 'a')", 'grade'],
  ['ALLOW READ ON staff.* WHERE grade = region', 'grade'],
  ["ALLOW READ ON staff.* WHERE tags ? 'vip'", 'tags'],
  // A DENY finds the rows without the value, and those have no digest in common.
  ["DENY READ ON staff.* WHERE grade = 'a'", 'grade'],
])('warns of %s', async (statement, name) => {
  expect(await opened(statement)).toEqual([name])
})
