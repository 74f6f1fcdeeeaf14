/** The properties every token kind obeys, looped over the registry, on every storage; each law is shown to go red for a vault that breaks it. */
import { describe, expect, test } from 'vitest'
import { keyEngine } from '../../src/adapters/keys/key-engine.ts'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { deriveTokens } from '../../src/core/barrier/mint-tokens.ts'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { allotSchema, EMPTY_ALLOTMENT } from '../../src/core/schema/allotment.ts'
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

/** A kind on trial: a vault with two tables of its columns, and others beside it. */
interface Fixture {
  readonly kind: TokenKind
  readonly samples: readonly TokenSample[]
  /** Those whose values need not repeat. */
  readonly manifold: readonly TokenSample[]
  readonly session: LooseSession
  /** The first of so many numbers that nobody has made values of. */
  fresh(count: number): number
  /** The same vault through another handle. */
  reopen(): Promise<LooseSession>
  /** A vault of another id, and one of another key. */
  elsewhere(): Promise<LooseSession[]>
  /** 10,000 tokens and what they stand for, made once. */
  many(): Promise<readonly Minted[]>
}

interface Minted {
  readonly sample: TokenSample
  readonly shown: string
  readonly token: string
}

type Law = (fixture: Fixture) => Promise<void>

/** Token of the group: in a format of letters, where the kind has formats. */
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
  const shared: ColumnDefinition = { type: 'STRING', token, normalise: ['lowercase'], columnGroup: 'shared' }
  const other: ColumnDefinition = { type: 'STRING' }
  return {
    lefts: { ...columns, shared, also_shared: shared, other },
    rights: { ...columns, shared },
    doomed: columns,
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

const properties: Readonly<Record<string, Law>> = {
  'leads back to its value as text, with its type, at every level': async ({ session, samples, fresh }) => {
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
          value: isHidden ? '*REDACTED*' : shown[k],
        })),
      )
    }
  },

  'is never its own value, in 10,000': async ({ many }) => {
    for (const { shown, token } of await many()) expect(token).not.toBe(shown)
  },

  'has the form its column promises, 10,000 times': async ({ many }) => {
    for (const { sample, shown, token } of await many()) expect([sample.name, token, sample.fits(token, shown)]).toContain(true)
  },

  'is unlike the 9,999 others': async ({ many }) => {
    expect(new Set((await many()).map(({ token }) => token)).size).toBe((await many()).length)
  },

  'is one for equal values of a scope where the kind is deterministic, and new every time where it is not': async (fixture) => {
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

  'is another in another column, table and vault, and under another key': async ({ session, samples, fresh, elsewhere }) => {
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

  'is what the token view of a read answers': async ({ session, samples, fresh }) => {
    const { id, tokens } = await insertOne(session, 'lefts', { ...cellsOf(samples, fresh(1)), other: 'x' })
    const view = await session.getOne('lefts', id, { tokenization: true })
    expect(view.tokens).toEqual(tokens)
    expect(view.fields).toEqual(tokens)
    expect(Object.keys(tokens)).toEqual(samples.map(({ name }) => `c_${name}`))
  },

  'survives reopening': async ({ session, samples, fresh, reopen }) => {
    const i = fresh(1)
    const { id, tokens } = await insertOne(session, 'lefts', cellsOf(samples, i))
    const again = await reopen()
    expect(await valuesOf(again, Object.values(tokens))).toEqual(samples.map(({ textAt }) => textAt(i)))
    expect((await again.getOne('lefts', id, { tokenization: true })).tokens).toEqual(tokens)
  },

  'survives changes of other columns and dies with its own value': async ({ session, manifold, fresh }) => {
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

  'dies with its record: a shared one with the last that holds the value, a transient one not yet': async (fixture) => {
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

  'dies when all records are deleted, a transient one not yet': async ({ session, samples, kind, fresh }) => {
    const i = fresh(1)
    const one = await insertOne(session, 'doomed', cellsOf(samples, i))
    const kept = await insertOne(session, 'rights', cellsOf(samples, i))
    await session.delete('doomed', '*')
    const shown = samples.map(({ textAt }) => textAt(i))
    expect(await valuesOf(session, tokensOf(one, samples))).toEqual(kind.expires ? shown : samples.map(() => undefined))
    expect(await valuesOf(session, tokensOf(kept, samples))).toEqual(shown)
  },
}

/** The vault of one kind at one place. `broken` stands between the properties and the vault. */
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
      const rekeyed = await openLoose(open.other(), tables, { secret: Buffer.alloc(32, 9).toString('base64') })
      return [broken(renamed.session), broken(rekeyed.session)]
    },
    many() {
      // In a vault of their own: a date has so few tokens that thousands of live ones would now and then be hit by chance.
      minted ??= openLoose(open.other(), tables, { id: 'crowd' }).then((crowd) => mintMany(broken(crowd.session), manifold))
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
    test.each(Object.entries(properties))('%s', async (_name, holds) => {
      await holds(await open())
    })
  })
})

/** A vault that changes every answered token. */
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

/** A vault that answers values by this rule in place of its own. */
const answering =
  (answer: (token: string, value: string, session: LooseSession) => string) =>
  (session: LooseSession): LooseSession => ({
    ...session,
    detokenize: async (parameters, options) => {
      const { records } = await session.detokenize(parameters, options)
      return { records: records.map((record) => ({ ...record, value: answer(record.token, record.value, session) })) }
    },
  })

/** A vault that forgets nothing: what a token once stood for it stands for always. */
function hoarding(session: LooseSession): LooseSession {
  return { ...session, update: async (_table, id) => ({ id, tokens: {} }), delete: async () => ({ ids: [] }) }
}

/** A law, a kind it must hold for, and a vault that breaks it. */
const BROKEN: readonly (readonly [law: string, kind: TokenKindName, broken: (session: LooseSession) => LooseSession])[] = [
  [
    'leads back to its value as text, with its type, at every level',
    'random',
    answering((_token, value) => (value === '9007199254740994' ? '9007199254740992' : value)),
  ],
  [
    'is never its own value, in 10,000',
    'formatPreserving',
    changingTokens((token, at) => (at === 9_000 ? (tokenSamples.formatPreserving[0]?.textAt(900) ?? '') : token)),
  ],
  [
    'has the form its column promises, 10,000 times',
    'deterministic',
    changingTokens((token, at) => (at === 77 ? token.toUpperCase() : token)),
  ],
  ['is unlike the 9,999 others', 'random', changingTokens((token, at) => (at === 9_999 || at === 1 ? 'twice' : token))],
  [
    'is one for equal values of a scope where the kind is deterministic, and new every time where it is not',
    'deterministicFormatPreserving',
    changingTokens((token, at) => `${token}${at}`),
  ],
  [
    'is another in another column, table and vault, and under another key',
    'deterministic',
    (session) => ({ ...session, insert: (table, ...given) => session.insert(table === 'rights' ? 'lefts' : table, ...given) }),
  ],
  [
    'is what the token view of a read answers',
    'deterministicFormatPreserving',
    (session) => ({ ...session, getOne: (table, id) => session.getOne(table, id) }),
  ],
  ['survives reopening', 'formatPreserving', changingTokens((token) => `${token}0`)],
  ['survives changes of other columns and dies with its own value', 'random', hoarding],
  ['dies with its record: a shared one with the last that holds the value, a transient one not yet', 'deterministic', hoarding],
  ['dies when all records are deleted, a transient one not yet', 'formatPreserving', hoarding],
]

describe('a law of tokens', () => {
  test.each(BROKEN)('that says it "%s" goes red for a broken vault of kind %s', async (law, name, broken) => {
    const holds = properties[law]
    const [one, two] = [memoryStorage(), memoryStorage()]
    const sound = await openFixture(name, { same: () => one, other: memoryStorage })
    await expect(holds?.(sound)).resolves.toBeUndefined()
    const fixture = await openFixture(name, { same: () => two, other: memoryStorage }, broken)
    await expect(holds?.(fixture)).rejects.toThrow()
  })

  test('has a vault that breaks it', () => {
    expect(BROKEN.map(([law]) => law)).toEqual(Object.keys(properties))
  })
})

describe('the registry of token kinds', () => {
  test('names each kind by its own name, and has samples for each', () => {
    expect(names.map((name) => tokenKinds[name].name)).toEqual(names)
    expect(Object.keys(tokenSamples).sort()).toEqual([...names].sort())
    for (const name of names) expect(tokenSamples[name].length).toBeGreaterThan(0)
  })
})

describe('collisions', () => {
  /** Birthday bound: n² / 2 / 2^122 for n = 10^6 is 9.4 * 10^-26. */
  test('1,000,000 deterministic tokens of distinct values collide never: expected collisions are below 10^-25', () => {
    const tables: SchemaDefinition = { t: { a: { type: 'STRING', token: 'deterministic' } } }
    const column = layoutSchema(allotSchema(tables, EMPTY_ALLOTMENT)).tables.get('t')?.columns[0]
    if (column === undefined) throw new Error('the table has no column')
    const ring = keyEngine.createRing('v1', [{ version: 1, secret: new Uint8Array(32).fill(7) }])
    const seen = new Set<string>()
    for (let from = 0; from < 1_000_000; from += 10_000) {
      const values = Array.from({ length: 10_000 }, (_, i) => `value ${from + i}`)
      for (const token of deriveTokens(ring, column, values)) seen.add(token)
    }
    expect(seen.size).toBe(1_000_000)
  })
})
