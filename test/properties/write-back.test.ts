/** Property: a caller who reads a record at the highest level and writes fields of it back changes no value. */
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { isVaultError } from '../../src/index.ts'
import { freshValue } from '../support/leaks/canaries.ts'
import { requestText } from '../support/leaks/known-values.ts'
import { GRADES, REGIONS, randomTables, schemaOf } from '../support/leaks/schemas.ts'
import { randomCaller, randomPolicy } from '../support/policies/random-policies.ts'

import type { SeededRandom } from '../support/random/seeded-random.ts'
import { randomFor } from '../support/random/seeded-random.ts'
import type { LooseSession } from '../support/vaults/open-untyped.ts'
import { asLoose, openLoose } from '../support/vaults/open-untyped.ts'

const SEED = process.env.SEED ?? 'write back'
const VAULTS = process.env.SOAK === '1' ? 5000 : 60
const ROWS = 4

/** What happened to the writes of one run. */
interface Run {
  written: number
  refused: number
  changed: string[]
}

/** How a caller writes a field back; a negative control writes another text. */
type WriteBack = (shown: unknown) => unknown

/** Writes every field that a random caller is shown back into its record, one by one. */
async function run(random: SeededRandom, writeBack: WriteBack, result: Run): Promise<void> {
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
    for (const { id, fields, lowered } of await recordsFor(session, table)) {
      for (const [name, shown] of Object.entries(fields)) {
        const before = await storedValue(owner, { table, id, name })
        const change = { [name]: lowered.includes(name) && shown !== null ? writeBack(shown) : shown }
        const isRefused = await session.update(table, id, { fields: change }).then(() => false, isWrongValue)
        if (isRefused) result.refused++
        else result.written++
        if (isDeepStrictEqual(await storedValue(owner, { table, id, name }), before)) continue
        result.changed.push(`${requestText({ method: 'update', args: [table, id, change] })} of ${caller.roles.join()}`)
      }
    }
  }
  await vault.close()
}

/** The records that a caller is shown, at the highest level; none without a grant. */
async function recordsFor(session: LooseSession, table: string) {
  try {
    return (await session.get(table, { redaction: 'PLAIN_TEXT' })).records
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

async function runAll(writeBack: WriteBack): Promise<Run> {
  const result: Run = { written: 0, refused: 0, changed: [] }
  for (let vault = 0; vault < VAULTS; vault++) await run(randomFor(`${SEED} ${vault}`), writeBack, result)
  return result
}

describe('a record that is written back as it is shown', () => {
  it('changes no value', { timeout: 4 * 3_600_000 }, async () => {
    const { written, refused, changed } = await runAll((shown) => shown)
    expect(changed, `seed '${SEED}'`).toEqual([])
    expect(written).toBeGreaterThan(VAULTS)
    expect(refused).toBeGreaterThan(VAULTS)
  })

  it('is compared exactly: another text in place of a lowered field changes values', async () => {
    const { changed } = await runAll((shown) => (typeof shown === 'string' ? `${shown}x` : shown))
    expect(changed.length).toBeGreaterThan(VAULTS / 4)
  })
})
