/** The properties of every token kind in the registry, on every storage. For each property, a vault that breaks it fails the test. */
import { describe, expect, it } from 'vitest'
import { keyRingFactory } from '../../src/adapters/keys/key-ring-factory.ts'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { deriveTokens } from '../../src/core/barrier/mint-tokens.ts'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { assignIds, EMPTY_CATALOG_SCHEMA } from '../../src/core/schema/catalog-schema.ts'
import type { ColumnDefinition, SchemaDefinition, TokenDefinition } from '../../src/core/schema/column.ts'
import { layoutSchema } from '../../src/core/schema/layout.ts'
import type { TokenKind, TokenKindName } from '../../src/core/tokens/token-kind.ts'
import { tokenKinds } from '../../src/core/tokens/token-kinds.ts'
import { onEachStorage } from '../support/storages/engines.ts'
import type { TokenSample } from '../support/tokens/samples.ts'
import { tokenSamples } from '../support/tokens/samples.ts'
import type { Cells, LooseRecord, LooseSession, LooseStored } from '../support/vaults/open-untyped.ts'
import { insertOne, openLoose, valuesOf } from '../support/vaults/open-untyped.ts'

const names = Object.keys(tokenKinds) as TokenKindName[] // Object.keys widens to string; the registry's type says which.

/** A token kind under test: a vault with two tables of its columns, and other vaults for comparison. */
interface Fixture {
  readonly kind: TokenKind
  readonly samples: readonly TokenSample[]
  /** Columns with enough different values. */
  readonly manifold: readonly TokenSample[]
  readonly session: LooseSession
  /** The first of so many unused numbers, to make values of. */
  fresh(count: number): number
  /** The same vault through another handle. */
  reopen(): Promise<LooseSession>
  /** A vault of another id, and one of another key. */
  elsewhere(): Promise<LooseSession[]>
  /** 10,000 tokens and their values, made once. */
  many(): Promise<readonly Minted[]>
}

interface Minted {
  readonly sample: TokenSample
  readonly shown: string
  readonly token: string
}

type Property = (fixture: Fixture) => Promise<void>

/** The token definition of the column group: a format of letters, if the kind has formats. */
function groupToken(kind: TokenKind): TokenDefinition {
  switch (kind.name) {
    case 'formatPreserving':
    case 'deterministicFormatPreserving':
      return { kind: kind.name, format: 'letters' }
    default:
      return kind.name
  }
}

function tablesOf(kind: TokenKind, samples: readonly TokenSample[]): SchemaDefinition {
  const columns = Object.fromEntries(samples.map(({ name, column }) => [`c_${name}`, column]))
  const token = groupToken(kind)
  const shared: ColumnDefinition = { type: 'STRING', token, normalize: ['lowercase'], columnGroup: 'shared' }
  const other: ColumnDefinition = { type: 'STRING' }
  return {
    lefts: { ...columns, shared, also_shared: shared, other },
    rights: { ...columns, shared },
    removed: columns,
  }
}

/** The cells of record number i: one value for every sample. */
function cellsOf(samples: readonly TokenSample[], i: number): Cells {
  return Object.fromEntries(samples.map(({ name, valueAt }) => [`c_${name}`, valueAt(i)]))
}

function tokensOf({ tokens }: LooseStored, samples: readonly TokenSample[]): (string | undefined)[] {
  return samples.map(({ name }) => tokens[`c_${name}`])
}

async function mintMany(session: LooseSession, samples: readonly TokenSample[]): Promise<Minted[]> {
  const rows = Math.ceil(10_000 / samples.length)
  const minted: Minted[] = []
  for (let from = 0; from < rows; from += 500) {
    const numbers = Array.from({ length: Math.min(500, rows - from) }, (_, i) => from + i)
    const records: LooseRecord[] = numbers.map((i) => ({ fields: cellsOf(samples, i) }))
    const answer = await session.insert('lefts', records, { tokenization: true })
    for (const [k, i] of numbers.entries()) {
      for (const sample of samples) {
        const token = answer.records[k]?.tokens[`c_${sample.name}`] ?? ''
        minted.push({ sample, shown: sample.textAt(i), token })
      }
    }
  }
  return minted
}

const LEVELS = [
  ['PLAIN_TEXT', false],
  ['DEFAULT', false],
  [undefined, false],
  ['MASKED', true],
  ['REDACTED', true],
] as const

const properties: Readonly<Record<string, Property>> = {
  'detokenizes to its value as text, with its type, at every redaction level': async ({ session, samples, fresh }) => {
    const i = fresh(2)
    const { records } = await session.insert(
      'lefts',
      [i, i + 1].map((number) => ({ fields: cellsOf(samples, number) })),
      { tokenization: true },
    )
    const tokens = records.flatMap((record) => tokensOf(record, samples))
    const shown = [i, i + 1].flatMap((number) => samples.map(({ textAt }) => textAt(number)))
    for (const [redaction, isHidden] of LEVELS) {
      const asked = tokens.map((token) => (redaction === undefined ? { token } : { token, redaction }))
      const answer = await session.detokenize(asked)
      expect(answer.records).toEqual(
        tokens.map((token, k) => ({
          token,
          valueType: samples[k % samples.length]?.column.type,
          ...(isHidden ? { value: '*REDACTED*', lowered: true } : { value: shown[k] }),
        })),
      )
    }
  },

  'is never its own value, among 10,000 tokens': async ({ many }) => {
    for (const { shown, token } of await many()) expect(token).not.toBe(shown)
  },

  'has the form of its column, among 10,000 tokens': async ({ many }) => {
    for (const { sample, shown, token } of await many()) expect([sample.name, token, sample.fits(token, shown)]).toContain(true)
  },

  'differs from 9,999 others': async ({ many }) => {
    expect(new Set((await many()).map(({ token }) => token)).size).toBe((await many()).length)
  },

  'is equal for equal values of a scope if the kind is deterministic, and new each time if it is not': async (fixture) => {
    const { session, samples, kind, fresh } = fixture
    const i = fresh(1)
    const [one, two] = [
      await insertOne(session, 'lefts', cellsOf(samples, i)),
      await insertOne(session, 'lefts', cellsOf(samples, i)),
    ]
    for (const { name } of samples) expect(one.tokens[`c_${name}`] === two.tokens[`c_${name}`]).toBe(kind.isDeterministic)
    const spelled = [`Group-${i}-Word`, `GROUP-${i}-WORD`]
    const left = await insertOne(session, 'lefts', { shared: spelled[0], also_shared: spelled[1] })
    const right = await insertOne(session, 'rights', { shared: spelled[1] })
    const tokens = new Set([left.tokens.shared, left.tokens.also_shared, right.tokens.shared])
    expect(tokens.size).toBe(kind.isDeterministic ? 1 : 3)
    expect(tokens).not.toContain(undefined)
  },

  'differs by column, table, vault and key': async ({ session, samples, fresh, elsewhere }) => {
    const i = fresh(1)
    const [renamed, rekeyed] = await elsewhere()
    const homes: [LooseSession | undefined, string][] = [
      [session, 'lefts'],
      [session, 'rights'],
      [renamed, 'lefts'],
      [rekeyed, 'lefts'],
    ]
    const seen = new Map<string, Set<string>>()
    for (const [home, table] of homes) {
      if (home === undefined) throw new Error('a vault is missing')
      const { tokens } = await insertOne(home, table, cellsOf(samples, i))
      for (const { name } of samples) seen.set(name, (seen.get(name) ?? new Set()).add(tokens[`c_${name}`] ?? ''))
    }
    for (const { name } of samples) expect([name, seen.get(name)?.size]).toEqual([name, homes.length])
    const mine = await insertOne(session, 'lefts', cellsOf(samples, i))
    expect(await valuesOf(renamed ?? session, tokensOf(mine, samples))).toEqual(samples.map(() => undefined))
    expect(await valuesOf(rekeyed ?? session, tokensOf(mine, samples))).toEqual(samples.map(() => undefined))
  },

  'is returned by a read with tokenization': async ({ session, samples, fresh }) => {
    const { id, tokens } = await insertOne(session, 'lefts', { ...cellsOf(samples, fresh(1)), other: 'x' })
    const view = await session.getOne('lefts', id, { tokenization: true })
    expect(view.tokens).toEqual(tokens)
    expect(view.fields).toEqual(tokens)
    expect(Object.keys(tokens)).toEqual(samples.map(({ name }) => `c_${name}`))
  },

  'is unchanged after the vault is reopened': async ({ session, samples, fresh, reopen }) => {
    const i = fresh(1)
    const { id, tokens } = await insertOne(session, 'lefts', cellsOf(samples, i))
    const again = await reopen()
    expect(await valuesOf(again, Object.values(tokens))).toEqual(samples.map(({ textAt }) => textAt(i)))
    expect((await again.getOne('lefts', id, { tokenization: true })).tokens).toEqual(tokens)
  },

  'survives changes of other columns and expires with its own value': async ({ session, manifold, fresh }) => {
    const i = fresh(2)
    const { id, tokens } = await insertOne(session, 'lefts', { ...cellsOf(manifold, i), other: 'x' })
    await session.update('lefts', id, { fields: { other: 'y' } })
    const left = manifold.map(({ name }) => tokens[`c_${name}`])
    for (const [k, { name, valueAt, textAt }] of manifold.entries()) {
      const changed = await session.update('lefts', id, { fields: { [`c_${name}`]: valueAt(i + 1) } }, { tokenization: true })
      const alive = manifold.map((sample, place) => (place <= k ? undefined : sample.textAt(i)))
      expect(await valuesOf(session, left)).toEqual(alive)
      expect(await valuesOf(session, [changed.tokens[`c_${name}`]])).toEqual([textAt(i + 1)])
      await session.update('lefts', id, { fields: { [`c_${name}`]: null } })
      expect(await valuesOf(session, [changed.tokens[`c_${name}`]])).toEqual([undefined])
    }
    expect((await session.getOne('lefts', id, { tokenization: true })).tokens).toEqual({})
  },

  'expires with its record: a shared token with the last record of the value, a transient token later': async (fixture) => {
    const { session, manifold, kind, fresh } = fixture
    const i = fresh(1)
    const one = await insertOne(session, 'lefts', cellsOf(manifold, i))
    const two = await insertOne(session, 'lefts', cellsOf(manifold, i))
    const shown = manifold.map(({ textAt }) => textAt(i))
    const gone = manifold.map(() => undefined)
    await session.delete('lefts', [one.id])
    expect(await valuesOf(session, tokensOf(one, manifold))).toEqual(kind.isDeterministic || kind.expires ? shown : gone)
    expect(await valuesOf(session, tokensOf(two, manifold))).toEqual(shown)
    await session.delete('lefts', [two.id])
    expect(await valuesOf(session, tokensOf(two, manifold))).toEqual(kind.expires ? shown : gone)
  },

  'expires when all records are deleted, a transient token later': async ({ session, samples, kind, fresh }) => {
    const i = fresh(1)
    const one = await insertOne(session, 'removed', cellsOf(samples, i))
    const kept = await insertOne(session, 'rights', cellsOf(samples, i))
    await session.delete('removed', '*')
    const shown = samples.map(({ textAt }) => textAt(i))
    expect(await valuesOf(session, tokensOf(one, samples))).toEqual(kind.expires ? shown : samples.map(() => undefined))
    expect(await valuesOf(session, tokensOf(kept, samples))).toEqual(shown)
  },
}

/** The vault of one kind at one place. `broken` wraps its session in negative controls. */
async function openFixture(
  name: TokenKindName,
  open: { same: () => StorageHandle; other: () => StorageHandle },
  broken: (session: LooseSession) => LooseSession = (session) => session,
): Promise<Fixture> {
  const kind = tokenKinds[name]
  const samples = tokenSamples[name]
  const manifold = samples.filter(({ isFew }) => !isFew)
  const tables = tablesOf(kind, samples)
  const session = broken((await openLoose(open.same(), tables)).session)
  let next = 0
  const fresh = (count: number): number => {
    next += count
    return next - count
  }
  let minted: Promise<readonly Minted[]> | undefined
  return {
    kind,
    samples,
    manifold,
    session,
    fresh,
    reopen: async () => broken((await openLoose(open.same(), tables)).session),
    async elsewhere() {
      const renamed = await openLoose(open.other(), tables, { id: 'v2' })
      const rekeyed = await openLoose(open.other(), tables, { secret: Buffer.alloc(32, 'another secret').toString('base64') })
      return [broken(renamed.session), broken(rekeyed.session)]
    },
    many() {
      // In a separate vault: a date has so few tokens that a guess would sometimes hit one of thousands.
      minted ??= openLoose(open.other(), tables, { id: 'many' }).then((vault) => mintMany(broken(vault.session), manifold))
      return minted
    },
  }
}

onEachStorage('token kinds', (engine) => {
  describe.each(names)('a token of kind %s', (name) => {
    let fixture: Promise<Fixture> | undefined
    const open = (): Promise<Fixture> => {
      const place = engine.fresh()
      fixture ??= openFixture(name, { same: () => place.open(), other: () => engine.fresh().open() })
      return fixture
    }
    it.each(Object.entries(properties))('%s', async (_name, holds) => {
      await holds(await open())
    })
  })
})

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
      update: async (...given) => changed(await session.update(...given)),
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
  return { ...session, update: async (_table, id) => ({ id, tokens: {} }), delete: async () => ({ ids: [] }) }
}

/** A property, a token kind, and a vault that breaks the property for it. */
const BROKEN: readonly (readonly [property: string, kind: TokenKindName, broken: (session: LooseSession) => LooseSession])[] = [
  [
    'detokenizes to its value as text, with its type, at every redaction level',
    'random',
    answering((_token, value) => (value === '9007199254740994' ? '9007199254740992' : value)),
  ],
  [
    'is never its own value, among 10,000 tokens',
    'formatPreserving',
    changingTokens((token, at) => (at === 9_000 ? (tokenSamples.formatPreserving[0]?.textAt(900) ?? '') : token)),
  ],
  [
    'has the form of its column, among 10,000 tokens',
    'deterministic',
    changingTokens((token, at) => (at === 77 ? token.toUpperCase() : token)),
  ],
  ['differs from 9,999 others', 'random', changingTokens((token, at) => (at === 9_999 || at === 1 ? 'twice' : token))],
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

describe('a property of tokens', () => {
  it.each(BROKEN)('"%s" fails for a broken vault of kind %s', async (property, name, broken) => {
    const holds = properties[property]
    const [one, two] = [memoryStorage(), memoryStorage()]
    const sound = await openFixture(name, { same: () => one, other: memoryStorage })
    await expect(holds?.(sound)).resolves.toBeUndefined()
    const fixture = await openFixture(name, { same: () => two, other: memoryStorage }, broken)
    await expect(holds?.(fixture)).rejects.toThrow()
  })

  it('has at least one vault that breaks it', () => {
    expect(BROKEN.map(([property]) => property)).toEqual(Object.keys(properties))
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
  /** Birthday bound: n² / 2 / 2^122 for n = 10^6 is 9.4 * 10^-26. */
  it('do not occur among 1,000,000 deterministic tokens: the expected number is below 10^-25', () => {
    const tables: SchemaDefinition = { t: { a: { type: 'STRING', token: 'deterministic' } } }
    const column = layoutSchema(assignIds(tables, EMPTY_CATALOG_SCHEMA)).tables.get('t')?.columns[0]
    if (column === undefined) throw new Error('the table has no column')
    const ring = keyRingFactory.createRing('v1', [{ version: 1, key: new Uint8Array(32).fill(7) }])
    const seen = new Set<string>()
    for (let from = 0; from < 1_000_000; from += 10_000) {
      const values = Array.from({ length: 10_000 }, (_, i) => `value ${from + i}`)
      for (const token of deriveTokens(ring, column, values)) seen.add(token)
    }
    expect(seen.size).toBe(1_000_000)
  })
})
