/** The law of minted keys: a credential never does what its maker's statements did not let them do, also after the schema grew. */
import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { ACTIONS } from '../../src/core/policy/statement.ts'
import { type Caller, column, type Explanation, isVaultError, type SchemaDefinition } from '../../src/index.ts'
import { type LeakTable, randomTables, schemaOf } from '../support/leaks/schemas.ts'
import { type RandomPolicy, randomCaller, randomPolicy } from '../support/policies/random-policies.ts'
import { randomFor, type SeededRandom } from '../support/random/seeded-random.ts'
import { openLoose } from '../support/vaults/open-untyped.ts'

const SEED = process.env.SEED ?? 'minted keys'
const VAULTS = 300
const VERIFIER = createHash('sha256').update('test secret').digest('hex')

/** A policy whose roles sometimes grant all that the schema has now, by names or by `*`, and the roles that a caller can have. */
function policyOf(random: SeededRandom, tables: readonly LeakTable[]): RandomPolicy {
  const everyName = tables.map(({ name }) => `${name}.*`)
  const inPlain = { effect: 'ALLOW', actions: ['ALL'], redaction: 'PLAIN_TEXT' } as const
  const byName = [
    { ...inPlain, on: everyName },
    { effect: 'ALLOW', actions: ['AUDIT'], on: ['*'] },
  ] as const
  const byAction = { effect: 'ALLOW', actions: ACTIONS, on: ['*'], redaction: 'PLAIN_TEXT' } as const
  const whole = { ...inPlain, on: ['*'] }
  const drawn = Object.entries(randomPolicy(random, tables)).map(([role, statements]) => {
    const more = random.pick([byName, byName, [byAction], [whole], []])
    const kept = random.chance(0.5) ? statements.filter(({ effect }) => effect === 'ALLOW') : statements
    return [role, [...kept, ...more]] as const
  })
  return Object.fromEntries(drawn)
}

/** The tables with a column more, and a table more. */
function grown(schema: SchemaDefinition): SchemaDefinition {
  const wider = Object.entries(schema).map(([name, columns]) => [name, { ...columns, added: column.string() }] as const)
  return { ...Object.fromEntries(wider), added: { secret: column.string({ unique: true }) } }
}

/** What every row grants at least, or some row at most, on each column: `READ customers.name PLAIN_TEXT`. */
function grantsOf({ action, table, columns }: Explanation, end: 'least' | 'most'): string[] {
  return columns.flatMap(({ column: name, decision, level, highestLevel }) => {
    const isGranted = decision === 'ALLOWED' || (end === 'most' && decision === 'CONDITIONAL')
    const shown = end === 'most' ? highestLevel : level
    const levels = { REDACTED: ['REDACTED'], MASKED: ['REDACTED', 'MASKED'], PLAIN_TEXT: ['REDACTED', 'MASKED', 'PLAIN_TEXT'] }
    const granted = `${action} ${table}.${name}`
    if (!isGranted) return []
    return action === 'READ' && shown !== undefined ? levels[shown].map((one) => `${granted} ${one}`) : [granted]
  })
}

/** Returns the grants of a minted key that its maker does not have; undefined if the maker is refused. */
async function excessOfMinted(random: SeededRandom): Promise<string[] | undefined> {
  const tables = randomTables(random)
  const schema = schemaOf(tables)
  const policy = policyOf(random, tables)
  const maker = randomCaller(random)
  const storage = memoryStorage()
  const before = await openLoose(storage, schema, { policy, audit: 'off' })
  const roles = random.sample(['clerk', 'agent', 'robot', 'VAULT_OWNER', 'VAULT_EDITOR', 'VAULT_VIEWER'], 1 + random.below(3))
  const context = random.pick([{ home: 'north' }, {}])
  const given = { kind: 'API_KEY', name: 'minted', roles, context, verifier: VERIFIER } as const
  const minted = await before.vault
    .as(maker)
    .createCredential(given)
    .catch((error: unknown) => {
      if (isVaultError(error, 'forbidden')) return undefined
      throw error
    })
  await before.vault.close()
  if (minted === undefined) return undefined
  const after = await openLoose(storage, grown(schema), { policy, audit: 'off' })
  const found = await after.vault.credentials.find(minted.keyId)
  const grants = (caller: Caller, end: 'least' | 'most') =>
    Object.keys(grown(schema)).flatMap((table) =>
      ACTIONS.flatMap((action) => grantsOf(after.vault.explain(caller, action, table), end)),
    )
  const own = new Set(grants(maker, 'least'))
  const key: Caller = { ...maker, roles: found?.roles ?? [], context: found?.context ?? {} }
  const excess = grants(key, 'most').filter((one) => !own.has(one))
  await after.vault.close()
  return excess
}

it('a minted key never does what its maker cannot do, in schemas that grow', async () => {
  const seen = { minted: 0, refused: 0 }
  for (let number = 0; number < VAULTS; number++) {
    const excess = await excessOfMinted(randomFor(`${SEED} ${number}`))
    expect(excess ?? [], `SEED="${SEED}", vault ${number}`).toEqual([])
    seen[excess === undefined ? 'refused' : 'minted']++
  }
  expect(seen.minted).toBeGreaterThan(VAULTS / 20)
  expect(seen.refused).toBeGreaterThan(VAULTS / 20)
})
