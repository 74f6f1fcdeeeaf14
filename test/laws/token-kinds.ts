/** Law: the properties that every token kind of the registry has, on every storage. */
import { expect } from 'vitest'
import type { KeyRingFactory } from '../../src/core/ports/crypto.ts'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import type { ColumnDefinition, SchemaDefinition } from '../../src/core/schema/column.ts'
import type { TokenDefinition, TokenKind, TokenKindName } from '../../src/core/tokens/token-kind.ts'
import { tokenKinds } from '../../src/core/tokens/token-kinds.ts'
import { engineInTurn, openPlaces, type Place } from '../support/storages/places.ts'
import { type TokenSample, tokenSamples } from '../support/tokens/samples.ts'
import {
  type Cells,
  insertOne,
  type LooseRecord,
  type LooseSession,
  type LooseStored,
  openLoose,
  valuesOf,
} from '../support/vaults/open-untyped.ts'
import type { Law } from './law.ts'

const names = Object.keys(tokenKinds) as TokenKindName[] // Object.keys widens to string; the registry's type says which.
/** Numbers of first values: the largest is a date before 2200, and has six digits. */
const FIRSTS = 100_000

/** A token kind under test: a vault with two tables of its columns, and other vaults for comparison. */
export interface Fixture {
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
  /** Many tokens and their values, made once. */
  many(): Promise<readonly Minted[]>
}

interface Minted {
  readonly sample: TokenSample
  readonly shown: string
  readonly token: string
}

/** Rejects if the property does not hold. */
export type TokenKindProperty = (fixture: Fixture) => Promise<void>

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

async function mintMany(
  session: LooseSession,
  samples: readonly TokenSample[],
  { first, many = 1000 }: FixturePlaces,
): Promise<Minted[]> {
  const rows = Math.ceil(many / samples.length)
  const minted: Minted[] = []
  for (let from = 0; from < rows; from += 500) {
    const numbers = Array.from({ length: Math.min(500, rows - from) }, (_, i) => first + from + i)
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

export const tokenKindProperties: Readonly<Record<string, TokenKindProperty>> = {
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
          table: 'lefts',
          column: `c_${samples[k % samples.length]?.name}`,
          ...(isHidden ? { value: '*REDACTED*', level: 'REDACTED' } : { value: shown[k] }),
        })),
      )
    }
  },

  'is never its own value, among many tokens': async ({ many }) => {
    for (const { shown, token } of await many()) expect(token).not.toBe(shown)
  },

  'has the form of its column, among many tokens': async ({ many }) => {
    for (const { sample, shown, token } of await many()) expect([sample.name, token, sample.fits(token, shown)]).toContain(true)
  },

  'differs from many others': async ({ many }) => {
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
    await session.updateOne('lefts', id, { other: 'y' })
    const left = manifold.map(({ name }) => tokens[`c_${name}`])
    for (const [k, { name, valueAt, textAt }] of manifold.entries()) {
      const changed = await session.updateOne('lefts', id, { [`c_${name}`]: valueAt(i + 1) }, { tokenization: true })
      const alive = manifold.map((sample, place) => (place <= k ? undefined : sample.textAt(i)))
      expect(await valuesOf(session, left)).toEqual(alive)
      expect(await valuesOf(session, [changed.tokens[`c_${name}`]])).toEqual([textAt(i + 1)])
      await session.updateOne('lefts', id, { [`c_${name}`]: null })
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

/** Where a fixture is stored, and which values it takes. */
export interface FixturePlaces {
  /** Another handle on its storage. */
  same(): StorageHandle
  /** An empty storage. */
  other(): StorageHandle
  /** The first number to make values of. */
  readonly first: number
  /** How many tokens `many` makes. Default: 1,000. */
  readonly many?: number
  /** Makes the keys of its first handle. */
  readonly factory?: KeyRingFactory
}

/** The vault of one kind at one place. `broken` wraps its session in negative controls. */
export async function openFixture(
  name: TokenKindName,
  open: FixturePlaces,
  broken: (session: LooseSession) => LooseSession = (session) => session,
): Promise<Fixture> {
  const kind = tokenKinds[name]
  const samples = tokenSamples[name]
  const manifold = samples.filter(({ isFew }) => !isFew)
  const tables = tablesOf(kind, samples)
  const session = broken((await openLoose(open.same(), tables, { ...(open.factory && { factory: open.factory }) })).session)
  let next = open.first
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
      minted ??= openLoose(open.other(), tables, { id: 'many' }).then((vault) => mintMany(broken(vault.session), manifold, open))
      return minted
    },
  }
}

/** A case is one kind on one engine, with every property. */
export const tokenKindsLaw: Law = {
  name: 'token-kinds',
  statement:
    'Tokens of every kind resolve to their value, have their form and scope, and expire with their value, on any storage',
  unit: 'vaults',
  figures: { test: 5, soak: 1500 },
  weight: 1,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      async check({ number, random }) {
        const name = names[number % names.length] ?? 'random'
        // Three engines and a number of kinds that no three divide: each kind meets each engine.
        const engine = engineInTurn(places, number)
        const opened: Place[] = []
        const fresh = (): Place => {
          const place = engine.fresh()
          opened.push(place)
          return place
        }
        try {
          const place = fresh()
          const fixture = await openFixture(name, {
            same: () => place.open(),
            other: () => fresh().open(),
            first: random.below(FIRSTS),
            // The code that makes them is the same on each engine, and a database is slower.
            ...(engine.name === 'memory' && { many: 5000 }),
          })
          for (const [property, holds] of Object.entries(tokenKindProperties)) {
            await holds(fixture).catch((error: unknown) => {
              throw new Error(`a token of kind ${name} on ${engine.name} ${property}`, { cause: error })
            })
          }
        } finally {
          for (const place of opened) await place.remove()
        }
        return 1
      },
      close: () => places.close(),
    }
  },
}
