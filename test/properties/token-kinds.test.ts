/** The law of token kinds, a vault that breaks each of its properties, and collisions among 250,000 tokens. */
import { describe, expect, it } from 'vitest'
import { keyRingFactory, platformKeyRingFactory } from '../../src/adapters/keys/key-ring-factory.ts'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { deriveTokens } from '../../src/core/barrier/mint-tokens.ts'
import { assignIds, EMPTY_CATALOG_SCHEMA } from '../../src/core/schema/catalog-schema.ts'
import type { SchemaDefinition } from '../../src/core/schema/column.ts'
import { layoutSchema } from '../../src/core/schema/layout.ts'
import type { TokenKindName } from '../../src/core/tokens/token-kind.ts'
import { tokenKinds } from '../../src/core/tokens/token-kinds.ts'
import { openFixture, tokenKindProperties, tokenKindsLaw } from '../laws/token-kinds.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { tokenSamples } from '../support/tokens/samples.ts'
import type { LooseSession, LooseStored } from '../support/vaults/open-untyped.ts'

const names = Object.keys(tokenKinds) as TokenKindName[] // Object.keys widens to string; the registry's type says which.

itHolds(tokenKindsLaw)

/** A vault that changes every returned token. */
const changingTokens =
  (change: (token: string, at: number) => string) =>
  (session: LooseSession): LooseSession => {
    let at = 0
    const changed = <T extends { tokens: LooseStored['tokens'] }>(record: T): T => ({
      ...record,
      tokens: Object.fromEntries(Object.entries(record.tokens ?? {}).map(([name, token]) => [name, change(token, at++)])),
    })
    return {
      ...session,
      insert: async (...given) => ({ records: (await session.insert(...given)).records.map(changed) }),
      updateOne: async (...given) => changed(await session.updateOne(...given)),
    }
  }

/** A vault that returns values by this rule. */
const answering =
  (answer: (token: string, value: string, session: LooseSession) => string) =>
  (session: LooseSession): LooseSession => ({
    ...session,
    detokenize: async (parameters, options) => {
      const { records } = await session.detokenize(parameters, options)
      return { records: records.map((record) => ({ ...record, value: answer(record.token, record.value, session) })) }
    },
  })

/** A vault whose tokens never expire. */
function hoarding(session: LooseSession): LooseSession {
  return { ...session, updateOne: async (_table, id) => ({ id, tokens: {} }), delete: async () => ({ ids: [] }) }
}

/** A property, a token kind, and a vault that breaks the property for it. */
const BROKEN: readonly (readonly [property: string, kind: TokenKindName, broken: (session: LooseSession) => LooseSession])[] = [
  [
    'detokenizes to its value as text, with its type, at every redaction level',
    'random',
    answering((_token, value) => (value === '9007199254740994' ? '9007199254740992' : value)),
  ],
  [
    'is never its own value, among many tokens',
    'formatPreserving',
    // Each record has a token of each sample.
    changingTokens((token, at) => {
      const [first, ...others] = tokenSamples.formatPreserving
      return at === 90 * (1 + others.length) ? (first?.textAt(90) ?? '') : token
    }),
  ],
  [
    'has the form of its column, among many tokens',
    'deterministic',
    changingTokens((token, at) => (at === 77 ? token.toUpperCase() : token)),
  ],
  ['differs from many others', 'random', changingTokens((token, at) => (at === 999 || at === 1 ? 'twice' : token))],
  [
    'is equal for equal values of a scope if the kind is deterministic, and new each time if it is not',
    'deterministicFormatPreserving',
    changingTokens((token, at) => `${token}${at}`),
  ],
  [
    'differs by column, table, vault and key',
    'deterministic',
    (session) => ({ ...session, insert: (table, ...given) => session.insert(table === 'rights' ? 'lefts' : table, ...given) }),
  ],
  [
    'is returned by a read with tokenization',
    'deterministicFormatPreserving',
    (session) => ({ ...session, getOne: (table, id) => session.getOne(table, id) }),
  ],
  ['is unchanged after the vault is reopened', 'formatPreserving', changingTokens((token) => `${token}0`)],
  ['survives changes of other columns and expires with its own value', 'random', hoarding],
  [
    'expires with its record: a shared token with the last record of the value, a transient token later',
    'deterministic',
    hoarding,
  ],
  ['expires when all records are deleted, a transient token later', 'formatPreserving', hoarding],
]

it.each(names)(
  'tokens of kind %s that the platform alone makes have every property, and the module resolves them',
  async (name) => {
    const storage = memoryStorage()
    const places = { same: () => storage, other: memoryStorage, first: 0, factory: platformKeyRingFactory }
    const fixture = await openFixture(name, places)
    for (const holds of Object.values(tokenKindProperties)) await holds(fixture)
  },
)

describe('a property of tokens', () => {
  it.each(BROKEN)('"%s" fails for a broken vault of kind %s', async (property, name, broken) => {
    const holds = tokenKindProperties[property]
    const [one, two] = [memoryStorage(), memoryStorage()]
    const sound = await openFixture(name, { same: () => one, other: memoryStorage, first: 0 })
    await expect(holds?.(sound)).resolves.toBeUndefined()
    const fixture = await openFixture(name, { same: () => two, other: memoryStorage, first: 0 }, broken)
    await expect(holds?.(fixture)).rejects.toThrow()
  })

  it('has at least one vault that breaks it', () => {
    expect(BROKEN.map(([property]) => property)).toEqual(Object.keys(tokenKindProperties))
  })
})

describe('the registry of token kinds', () => {
  it('lists each kind under its name, with samples for each', () => {
    expect(names.map((name) => tokenKinds[name].name)).toEqual(names)
    expect(Object.keys(tokenSamples).sort()).toEqual([...names].sort())
    for (const name of names) expect(tokenSamples[name].length).toBeGreaterThan(0)
  })
})

describe('collisions', () => {
  /** Birthday bound: n² / 2 / 2^122 for n = 250,000 is 5.9 * 10^-27. */
  it('do not occur among 250,000 deterministic tokens: the expected number is below 10^-26', () => {
    const tables: SchemaDefinition = { t: { a: { type: 'STRING', token: 'deterministic' } } }
    const column = layoutSchema(assignIds(tables, EMPTY_CATALOG_SCHEMA)).tables.get('t')?.columns[0]
    if (column === undefined) throw new Error('the table has no column')
    const ring = keyRingFactory.createRing('v1', [{ version: 1, key: new Uint8Array(32).fill(7) }])
    const seen = new Set<string>()
    for (let from = 0; from < 250_000; from += 10_000) {
      const values = Array.from({ length: 10_000 }, (_, i) => `value ${from + i}`)
      for (const token of deriveTokens(ring, column, values)) seen.add(token ?? '')
    }
    expect(seen.size).toBe(250_000)
  })
})
