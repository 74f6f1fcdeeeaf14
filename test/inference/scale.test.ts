/** Large schemas type-check fast: the compiler's work is counted, because its time depends on the machine. */
import ts from 'typescript'
import { expect, it } from 'vitest'
import { openProgram } from '../support/compiler/open-program.ts'

const FILE = 'test/inference/large-schema.ts'
const TABLES = 50

/**
 * Maximum number of types that the compiler instantiates, about 1.3 times what it takes today, 148,000. A batch alone took 470,000 when each
 * item was compared with the items of all tables.
 */
const MAX_INSTANTIATIONS = 195_000

/** Ten columns; a table has each twice. */
const COLUMNS = [
  "column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' })",
  "column.string({ unique: true, normalize: ['trim', 'lowercase'] })",
  "column.string({ encrypted: false, index: true, oneOf: ['a', 'b', 'c'] })",
  'column.integer()',
  'column.boolean({})',
  'column.date({ searchable: true })',
  'column.json()',
  'column.datetime()',
  'column.float({ required: true })',
  "column.string({ token: { kind: 'deterministic' }, columnGroup: 'names' })",
]

const each = (part: (table: number) => string): string => Array.from({ length: TABLES }, (_, table) => part(table)).join('\n')

const text = `
import { column, createVault, defineSchema, mask } from 'strongroom'
import { localKeys } from 'strongroom/keys'
import { memoryStorage } from 'strongroom/memory'

export const schema = defineSchema({
${each((table) => `t${table}: { ${[...COLUMNS, ...COLUMNS].map((made, index) => `c${index}: ${made}`).join(', ')} },`)}
})
const vault = await createVault({
  id: 'v1',
  schema,
  storage: memoryStorage(),
  keys: localKeys({ file: 'vault.key' }),
  policy: { clerk: ['ALLOW READ ON t0.*'], other: [{ effect: 'ALLOW', actions: ['READ'], on: ['t0.c1', 't1.*'] }] },
})
const session = vault.as({ actor: 'ann', actorType: 'USER', roles: ['clerk'] })
${each(
  (table) => `
export async function use${table}(id: string) {
  const fields = { c0: 'x', c8: 1, c10: 'y', c18: 2, c2: 'a' } as const
  const { records } = await session.insert('t${table}', [{ fields }], { tokenization: true })
  const all = await session.get('t${table}', { where: { c1: 'x' } })
  const one = await session.getOne('t${table}', id, { redaction: 'PLAIN_TEXT', fields: ['c0', 'c3'], onLowered: 'throw' })
  await session.updateOne('t${table}', id, { c3: 4, c5: null })
  const { responses } = await session.batch([
    { get: 't${table}', id },
    { update: 't${table}', id, fields: { c3: 1 } },
  ])
  return [records[0]?.tokens.c0, all.records[0]?.fields.c1, one.fields.c3, responses[0].value.fields.c0]
}`,
)}
`

it('checks 50 tables of 20 columns, with reads and writes of each, in few instantiations', () => {
  const program = openProgram([], { [FILE]: text })
  const file = program.getSourceFiles().find(({ fileName }) => fileName.endsWith(FILE))
  const problems = program
    .getSemanticDiagnostics(file)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
  expect(problems).toEqual([])
  const instantiations = program.getInstantiationCount()
  expect(instantiations).toBeGreaterThan(50_000)
  expect(instantiations).toBeLessThan(MAX_INSTANTIATIONS)
})
