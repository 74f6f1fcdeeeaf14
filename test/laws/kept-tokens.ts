/** Law: over random writes, a cell keeps its token exactly if its value stays and its writer reads it in plain text. */
import { expect } from 'vitest'
import type { SchemaDefinition } from '../../src/core/schema/column.ts'
import { column } from '../../src/index.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import { engineInTurn, onFresh, openPlaces } from '../support/storages/places.ts'
import {
  asLoose,
  type Cells,
  type LooseSession,
  type LooseStored,
  type LooseVault,
  openLoose,
  START_MS,
  valuesOf,
} from '../support/vaults/open-untyped.ts'
import type { Law } from './law.ts'

const PLAIN = { redaction: 'PLAIN_TEXT' } as const
const TABLES: SchemaDefinition = {
  people: {
    email: column.string({ unique: true, normalize: ['lowercase'], ...PLAIN }),
    region: column.string({ encrypted: false, ...PLAIN }),
    name: column.string({ token: 'random', ...PLAIN }),
    badge: column.string({ encrypted: false, token: 'random', ...PLAIN }),
    ssn: column.string({ token: { kind: 'formatPreserving', format: 'ssn' }, ...PLAIN }),
    notes: column.json({ token: 'random', ...PLAIN }),
    pin: column.integer({ token: { kind: 'transient', ttlMinutes: 60 }, ...PLAIN }),
  },
}
const COLUMNS = ['name', 'badge', 'ssn', 'notes', 'pin'] as const
type Name = (typeof COLUMNS)[number]
/** The values of each column: so few that writes often repeat one. Two of `notes` differ in the order of members alone. */
const VALUES: Readonly<Record<Name, readonly unknown[]>> = {
  name: ['Ann', 'ann', 'Ann '],
  badge: ['B1', 'B2'],
  ssn: ['123-45-6789', '123-45-6780'],
  notes: [{ a: 1, b: 2 }, { b: 2, a: 1 }, 'a', ['a']],
  pin: [1, 2],
}
const LIFE_MS = 60 * 60_000

const POLICY = {
  plain: ['ALLOW CREATE, READ, UPDATE, DETOKENIZATION ON people.* WITH REDACTION = PLAIN_TEXT'],
  masked: ['ALLOW CREATE, READ, UPDATE, DETOKENIZATION ON people.* WITH REDACTION = MASKED'],
  writer: ['ALLOW CREATE, UPDATE ON people.*'],
  undetokenized: ['ALLOW CREATE, READ, UPDATE ON people.* WITH REDACTION = PLAIN_TEXT'],
  northern: [
    'ALLOW CREATE, UPDATE ON people.*',
    "ALLOW READ, DETOKENIZATION ON people.* WITH REDACTION = PLAIN_TEXT WHERE region = 'north'",
  ],
}
type Role = keyof typeof POLICY
const ROLES = Object.keys(POLICY) as Role[] // Object.keys widens to string.
const REGIONS = ['north', 'south'] as const

/** A stored record, as the law expects it. */
interface Expected {
  readonly id: string
  readonly email: string
  readonly region: string
  readonly values: Map<Name, unknown>
  readonly tokens: Map<Name, string>
  pinEnds: number
}

/** A record to write over another, and the tokens that are supplied with it. */
interface Write {
  readonly over: Expected
  readonly fields: Cells
  readonly tokens: Cells
}

/** How a write goes: returns what the vault answers for each record. `plainOnly`: the caller must be able to look records up. */
interface Way {
  readonly plainOnly?: true
  readonly single?: true
  send(session: LooseSession, writes: readonly Write[]): Promise<readonly Pick<LooseStored, 'tokens'>[]>
}

const OPTIONS = { tokenization: true, byot: 'ENABLE' }
const keyed = ({ over, fields, tokens }: Write) => ({ fields: { email: over.email.toUpperCase(), ...fields }, tokens })

/** What an item of a batch returns: a record, or a list of one. */
async function batched(session: LooseSession, items: readonly Cells[]): Promise<LooseStored[]> {
  const { responses } = await session.batch(items, { byot: 'ENABLE' })
  // The items are those that this law sends.
  return responses.map(({ value }) => value as LooseStored)
}

const WAYS: Readonly<Record<string, Way>> = {
  updateOne: {
    single: true,
    send: async (session, writes) => {
      const answers = []
      for (const { over, fields, tokens } of writes)
        answers.push(await session.updateOne('people', over.id, fields, { tokens, ...OPTIONS }))
      return answers
    },
  },
  update: {
    send: async (session, writes) =>
      (
        await session.update(
          'people',
          writes.map(({ over, fields, tokens }) => ({ id: over.id, fields, tokens })),
          OPTIONS,
        )
      ).records,
  },
  updateWhere: {
    ...{ single: true, plainOnly: true },
    send: async (session, writes) => {
      const answers = []
      for (const { over, fields } of writes) {
        const where = { email: [over.email] }
        answers.push(...(await session.updateWhere('people', where, fields, { tokenization: true })).records)
      }
      return answers
    },
  },
  upsert: {
    send: async (session, writes) => (await session.insert('people', writes.map(keyed), { upsert: 'email', ...OPTIONS })).records,
  },
  put: {
    send: (session, writes) =>
      batched(
        session,
        writes.map(({ over, fields, tokens }) => ({
          ...{ update: 'people', id: over.id, tokenization: true, fields },
          ...(Object.keys(tokens).length > 0 && { tokens }),
        })),
      ),
  },
  post: {
    send: (session, writes) =>
      batched(
        session,
        writes.map((write) => ({
          ...{ insert: 'people', upsert: 'email', tokenization: true },
          ...keyed(write),
        })),
      ),
  },
}

/** True if a role reads a cell in plain text. No condition is true for a transient value, which has no record. */
export function readsPlain(role: Role, name: Name, { region }: Pick<Expected, 'region'>): boolean {
  if (role === 'undetokenized') return name !== 'pin'
  return role === 'plain' || (role === 'northern' && region === 'north' && name !== 'pin')
}

/** The members of an object in one order. */
const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort())
      : member,
  )

/** A vault, and what is expected of its records. */
export interface Scene {
  readonly opened: LooseVault
  readonly session: Readonly<Record<Role, LooseSession>>
  readonly records: readonly Expected[]
}

/** Opens a vault with so many records. */
export async function openScene(storage: Parameters<typeof openLoose>[0], random: SeededRandom, count: number): Promise<Scene> {
  const opened = await openLoose(storage, TABLES, { policy: POLICY, clock: { ms: START_MS } })
  const drafts = Array.from({ length: count }, (_, i) => ({
    email: `p${i}@acme.example`,
    region: random.pick(REGIONS),
    ...Object.fromEntries(COLUMNS.map((name) => [name, random.pick(VALUES[name])])),
  }))
  const stored = await opened.session.insert(
    'people',
    drafts.map((fields) => ({ fields })),
    { tokenization: true },
  )
  const records = stored.records.map(({ id, tokens }, k): Expected => {
    const { email = '', region = 'north', ...values } = drafts[k] ?? {}
    return {
      ...{ id, email, region, pinEnds: START_MS + LIFE_MS },
      values: new Map(Object.entries(values) as [Name, unknown][]), // The names are those of the draft.
      tokens: new Map(Object.entries(tokens) as [Name, string][]),
    }
  })
  const asRole = (role: Role) => asLoose(opened.vault.as({ actor: role, actorType: 'USER', roles: [role] }))
  const session = Object.fromEntries(ROLES.map((role) => [role, asRole(role)])) as Record<Role, LooseSession> // One for each.
  return { opened, session, records }
}

/** Whether a role reads a cell in plain text, as the law expects it. */
type Reads = typeof readsPlain

/** One cell of a write, and what the vault answered. */
interface WrittenCell {
  readonly write: Write
  readonly name: Name
  readonly isAlive: boolean
  readonly isRead: boolean
  /** The token that is stored now, and the one that the write returned. */
  readonly after: string | undefined
  readonly answered: string | undefined
  readonly place: string
}

/** Writes once in a random way, and compares every cell. Returns how many records were written. */
export async function writeOnce(
  { opened, session, records }: Scene,
  random: SeededRandom,
  reads: Reads = readsPlain,
): Promise<number> {
  const { clock } = opened
  if (random.chance(0.2)) clock.ms += LIFE_MS / 2
  const role = random.pick(ROLES)
  const [wayName, way] = random.pick(Object.entries(WAYS).filter(([, { plainOnly }]) => plainOnly !== true || role === 'plain'))
  const some = random.sample(records, way.single === true ? 1 : 1 + random.below(records.length))
  const mark = wayName !== 'updateWhere' && random.chance(0.3) ? `${clock.ms} ${random()}` : undefined
  const writes = some.map((over) => randomWrite(random, over, mark))
  const answers = await way.send(session[role], writes)
  expect(answers).toHaveLength(writes.length)
  const old = new Map<string, boolean>()
  for (const [k, write] of writes.entries()) {
    const { over, fields } = write
    const view = (await opened.session.getOne('people', over.id, { tokenization: true })).tokens ?? {}
    for (const name of COLUMNS) {
      const before = over.tokens.get(name)
      const isAlive = name !== 'pin' || over.pinEnds > clock.ms
      const place = `${wayName} by ${role}: ${name} of ${over.email}`
      const after = view[name]
      if (name in fields) {
        compareCell({ write, name, isAlive, isRead: reads(role, name, over), after, answered: answers[k]?.tokens[name], place })
        if (before !== undefined) old.set(before, before === after)
        note(over, { name, value: fields[name], token: after, now: clock.ms })
      } else if (isAlive) expect(after, place).toBe(before)
    }
  }
  if (old.size > 0) {
    const resolved = await valuesOf(opened.session, [...old.keys()])
    expect(resolved.map((text) => text !== undefined)).toEqual([...old.values()])
  }
  return writes.length
}

function compareCell({ write, name, isAlive, isRead, after, answered, place }: WrittenCell): void {
  const { over, fields, tokens } = write
  const before = over.tokens.get(name)
  const value = fields[name]
  const supplied = tokens[name]
  expect(answered, place).toBe(after)
  expect(after === undefined, place).toBe(value === null)
  if (supplied !== undefined) expect(after, place).toBe(supplied)
  else if (before !== undefined && value !== null) {
    const isSame = isAlive && sorted(over.values.get(name)) === sorted(value)
    expect(after === before, place).toBe(isSame && isRead)
  }
}

/** Notes what is stored now. */
function note(
  over: Expected,
  {
    name,
    value,
    token,
    now,
  }: { readonly name: Name; readonly value: unknown; readonly token: string | undefined; readonly now: number },
): void {
  over.values.set(name, value)
  if (token === undefined) over.tokens.delete(name)
  else over.tokens.set(name, token)
  if (name === 'pin') over.pinEnds = now + LIFE_MS
}

function randomWrite(random: SeededRandom, over: Expected, mark: string | undefined): Write {
  const names = random.sample(COLUMNS, 1 + random.below(COLUMNS.length))
  const fields: Record<string, unknown> = {}
  const tokens: Record<string, string> = {}
  for (const name of names) {
    fields[name] = random.chance(0.5) ? (over.values.get(name) ?? null) : random.pick([...VALUES[name], null])
    if (mark !== undefined && fields[name] !== null && random.chance(0.3)) tokens[name] = `${name} ${over.email} ${mark}`
  }
  return { over, fields, tokens }
}

/** Writes of a case. */
const WRITES = 12

/** A case is a vault on one engine, and random writes to it. Every fourth one has records enough for batches that are prepared. */
export const keptTokens: Law = {
  name: 'kept-tokens',
  statement: 'A cell keeps its token exactly if its value stays and its writer reads it in plain text, on every way of writing',
  unit: 'records written',
  figures: { test: 600, soak: 100_000 },
  weight: 1,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      async check({ number, random }) {
        let written = 0
        await onFresh(engineInTurn(places, number), async (place) => {
          const scene = await openScene(place.open(), random, Math.floor(number / 3) % 4 === 3 ? 90 : 4)
          for (let k = 0; k < WRITES; k++) written += await writeOnce(scene, random)
          expect((await scene.opened.vault.verifyRecords()).ok).toBe(true)
        })
        return written
      },
      close: () => places.close(),
    }
  },
}
