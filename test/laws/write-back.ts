/** Law: a caller who reads a record at the levels of its columns, or at the highest, and writes fields of it back changes no value. */
import { isDeepStrictEqual } from 'node:util'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { isVaultError } from '../../src/index.ts'
import { freshValue } from '../support/leaks/canaries.ts'
import { requestText } from '../support/leaks/known-values.ts'
import { GRADES, REGIONS, randomTables, schemaOf } from '../support/leaks/schemas.ts'
import { randomCaller, randomPolicy } from '../support/policies/random-policies.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import { asLoose, type LooseSession, openLoose } from '../support/vaults/open-untyped.ts'
import type { Law } from './law.ts'

const ROWS = 4

/** What happened to the writes of one run. */
export interface Run {
  written: number
  refused: number
  changed: string[]
}

/** How a caller writes a field back; a negative control writes another text. */
export type WriteBack = (shown: unknown) => unknown

/** Writes every field that a random caller is shown back into its record, one by one. */
export async function writeBackAll(random: SeededRandom, writeBack: WriteBack): Promise<Run> {
  const result: Run = { written: 0, refused: 0, changed: [] }
  const tables = randomTables(random)
  const policy = randomPolicy(random, tables)
  // Each role may update everything, so that no write is refused for want of a grant.
  const writing = { effect: 'ALLOW', actions: ['UPDATE'], on: ['*'] } as const
  const caller = randomCaller(random)
  const roles = Object.fromEntries(Object.entries(policy).map(([role, statements]) => [role, [...statements, writing]]))
  const { vault, session: owner } = await openLoose(memoryStorage(), schemaOf(tables), { policy: roles, audit: 'off' })
  const session = asLoose(vault.as(caller))
  for (const { name: table, secrets } of tables) {
    const records = Array.from({ length: ROWS }, () => ({
      fields: {
        region: random.pick(REGIONS),
        grade: random.pick(GRADES),
        ...Object.fromEntries(secrets.map(({ name, form }) => [name, random.chance(0.1) ? null : freshValue(random, form)])),
      },
    }))
    await owner.insert(table, records)
    const redaction = random.pick(['PLAIN_TEXT', 'DEFAULT'])
    for (const { id, fields, levels } of await recordsFor(session, table, redaction)) {
      for (const [name, shown] of Object.entries(fields)) {
        const before = await storedValue(owner, { table, id, name })
        const change = { [name]: name in levels && shown !== null ? writeBack(shown) : shown }
        const isRefused = await session.updateOne(table, id, change).then(() => false, isWrongValue)
        if (isRefused) result.refused++
        else result.written++
        if (isDeepStrictEqual(await storedValue(owner, { table, id, name }), before)) continue
        result.changed.push(`${requestText({ method: 'updateOne', args: [table, id, change] })} of ${caller.roles.join()}`)
      }
    }
  }
  await vault.close()
  return result
}

/** The records that a caller is shown at a level; none without a grant. */
async function recordsFor(session: LooseSession, table: string, redaction: string) {
  try {
    return (await session.get(table, { redaction })).records
  } catch (error) {
    if (isVaultError(error, 'forbidden')) return []
    throw error
  }
}

async function storedValue(owner: LooseSession, cell: { readonly table: string; readonly id: string; readonly name: string }) {
  const { fields } = await owner.getOne(cell.table, cell.id, { redaction: 'PLAIN_TEXT', fields: [cell.name] })
  return fields[cell.name]
}

/** What else can refuse a write here: a DENY of the update, and a unique column. */
const OTHER_REFUSALS: readonly unknown[] = ['forbidden', 'not_found', 'invalid_request', 'conflict']

/** True for the refusal of a value. Throws unexpected errors. */
function isWrongValue(error: unknown): boolean {
  if (isVaultError(error, 'unprocessable')) return true
  if (isVaultError(error) && OTHER_REFUSALS.includes(error.code)) return false
  throw error
}

/** A case is one random vault and one random caller. */
export const writeBackLaw: Law = {
  name: 'write-back',
  statement: 'A field that is written back as a caller is shown it changes no value',
  unit: 'fields',
  figures: { test: 1000, soak: 100_000 },
  weight: 1,
  open: () => ({
    async check({ random }) {
      const { written, refused, changed } = await writeBackAll(random, (shown) => shown)
      if (changed.length > 0) throw new Error(changed.join('\n'))
      return written + refused
    },
  }),
}
