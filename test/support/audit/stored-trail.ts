/** A stored audit trail, and ways to tamper with it. */
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { SignedCheckpoint, Vault } from '../../../src/index.ts'
import type { NewRow, Row, StorageHandle } from '../../../src/storage-port.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import { CLERK, OWNER } from '../vaults/test-vault.ts'
import { type Clients, openClients } from './audited-clients.ts'
import { createSigning } from './sample-trails.ts'

const EVENTS = 'audit_events'
const HEADS = 'audit_chains'
const EVERY = { kind: 'all' } as const
const ALL = { order: 'asc', limit: 10_000 } as const
/** Rows that one chain has room for. The id of a row is its chain times this, plus its position. */
const CHAIN_SIZE = 2 ** 32

/** The rows of the trail's tables. */
export interface Stored {
  readonly events: readonly Row[]
  readonly heads: readonly Row[]
}

/** What tampering may use: random integers, the trail as it was some events ago, and the trail of another vault. */
export interface Loot {
  readonly below: (count: number) => number
  readonly earlier: Stored
  readonly foreign: Stored
}

/** Returns the changed trail; undefined if the random choice changes nothing. */
export type Tampering = (trail: Stored, loot: Loot) => Stored | undefined

/** A vault with a trail, and the trail at other times and of another vault. */
export interface StoredTrail {
  readonly vault: Vault<Clients>
  readonly trail: Stored
  readonly earlier: Stored
  readonly foreign: Stored
  readonly checkpoint: SignedCheckpoint
  /** Replaces the stored trail. */
  write(stored: Stored): Promise<void>
}

/** Writes a trail of several chains in memory. */
export async function openStoredTrail(): Promise<StoredTrail> {
  const storage = openWithChains()
  const vault = await openClients(storage)
  await work(vault, 2)
  const earlier = await read(storage)
  await work(vault, 3)
  const checkpoint = await vault.checkpointAudit({ signer: createSigning('k').signer })
  const trail = await read(storage)
  const other = openWithChains()
  await work(await openClients(other, { id: 'v2' }), 4)
  return { vault, trail, earlier, foreign: await read(other), checkpoint, write: (stored) => write(storage, stored) }
}

/** Tampers so many times, each way in turn. Returns the ways that were not found, and how often. */
export async function missedBy(
  { vault, trail, earlier, foreign, write }: StoredTrail,
  ways: Readonly<Record<string, Tampering>>,
  run: { readonly times: number; readonly random: SeededRandom; readonly checkpoints?: readonly SignedCheckpoint[] },
): Promise<Map<string, number>> {
  const loot: Loot = { below: run.random.below, earlier, foreign }
  const missed = new Map<string, number>()
  const entries = Object.entries(ways)
  for (let round = 0; round < run.times; round++) {
    const [name, tamper] = entries[round % entries.length] ?? ['', () => undefined]
    const tampered = tamper(trail, loot)
    if (tampered === undefined) continue
    await write(tampered)
    const verdict = await vault.verifyAudit({ checkpoints: run.checkpoints ?? [] })
    if (verdict.ok || verdict.firstFailure === undefined) missed.set(name, (missed.get(name) ?? 0) + 1)
  }
  await write(trail)
  return missed
}

/** Runs many operations at once, so that there are many chains. */
async function work(on: Vault<Clients>, rounds: number): Promise<void> {
  const session = on.as(OWNER)
  for (let round = 0; round < rounds; round++) {
    const calls = [0, 1, 2].map((n) =>
      session.insert(
        'clients',
        Array.from({ length: 20 }, () => ({ fields: { name: `${n}` } })),
      ),
    )
    await Promise.allSettled([...calls, session.get('clients'), on.as(CLERK).get('clients')])
  }
}

/** A storage in memory with concurrent transactions, as in PostgreSQL. */
function openWithChains(): StorageHandle {
  return { ...memoryStorage(), transactions: 'concurrent' }
}

async function read(from: StorageHandle): Promise<Stored> {
  return { events: await from.find(EVENTS, EVERY, ALL), heads: await from.find(HEADS, EVERY, ALL) }
}

async function write(storage: StorageHandle, { events, heads }: Stored): Promise<void> {
  await storage.delete(EVENTS, { filter: EVERY })
  await storage.delete(HEADS, { filter: EVERY })
  await storage.insert(EVENTS, events as readonly NewRow[])
  await storage.insert(HEADS, heads as readonly NewRow[])
}

/** The chain of a row. */
export const chainOf = ({ id }: Pick<Row, 'id'>): number => Math.floor(id / CHAIN_SIZE)
const bytesOf = (row: Row | undefined): Uint8Array => (row?.body instanceof Uint8Array ? row.body : new Uint8Array(0))

/** A random row. */
export function oneOf(rows: readonly Row[], { below }: Loot): Row {
  const row = rows[below(rows.length)]
  if (row === undefined) throw new Error('there is nothing to tamper with')
  return row
}

/** A chain, its events, and its last event. */
function chainIn({ events }: Stored, loot: Loot) {
  const chain = chainOf(oneOf(events, loot))
  const own = events.filter((row) => chainOf(row) === chain)
  return { chain: chain, own, last: own.at(-1) ?? oneOf(own, loot) }
}

function flipped(bytes: Uint8Array, { below }: Loot): Uint8Array {
  const bit = below(bytes.length * 8)
  return bytes.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte))
}

/** The rows, one of them changed. */
export function changed(rows: readonly Row[], row: Row, set: Partial<Record<string, Row[string]>>): Row[] {
  return rows.map((one) => (one === row ? ({ ...one, ...set } as Row) : one))
}

/** The rows without some of them. */
export const without = (rows: readonly Row[], ...gone: readonly Row[]): Row[] => rows.filter((row) => !gone.includes(row))
const byId = (rows: readonly Row[]): Row[] => [...rows].sort((left, right) => left.id - right.id)

/** The trail with one event moved to another free id. */
function moved({ events, heads }: Stored, row: Row, id: number): Stored | undefined {
  if (events.some((one) => one.id === id)) return undefined
  return { events: byId([...without(events, row), { ...row, id }]), heads }
}

/** Tampering that the trail alone reveals. */
export const FOUND: Readonly<Record<string, Tampering>> = {
  'a bit of an event is flipped': ({ events, heads }, loot) => {
    const row = oneOf(events, loot)
    return { events: changed(events, row, { body: flipped(bytesOf(row), loot) }), heads }
  },
  'a bit of a head is flipped': ({ events, heads }, loot) => {
    const row = oneOf(heads, loot)
    return { events, heads: changed(heads, row, { body: flipped(bytesOf(row), loot) }) }
  },
  'an event is shortened': ({ events, heads }, loot) => {
    const row = oneOf(events, loot)
    return { events: changed(events, row, { body: bytesOf(row).slice(0, loot.below(bytesOf(row).length)) }), heads }
  },
  'an event is emptied': ({ events, heads }, loot) => ({ events: changed(events, oneOf(events, loot), { body: null }), heads }),
  'two events swap their positions, with or without their times': ({ events, heads }, loot) => {
    const [one, other] = [oneOf(events, loot), oneOf(events, loot)]
    if (one === other) return undefined
    const times = loot.below(2) === 0
    const swapped = changed(events, one, { body: other.body ?? null, ...(times ? { at: other.at ?? null } : {}) })
    return { events: changed(swapped, other, { body: one.body ?? null, ...(times ? { at: one.at ?? null } : {}) }), heads }
  },
  'an event is moved to the end of a chain': (trail, loot) =>
    moved(trail, oneOf(trail.events, loot), chainIn(trail, loot).last.id + 1),
  'an event is moved to a new chain': (trail, loot) =>
    moved(trail, oneOf(trail.events, loot), (100 + loot.below(100)) * CHAIN_SIZE + 1),
  'an event is moved to an invalid position': (trail, loot) =>
    moved(trail, oneOf(trail.events, loot), [1, CHAIN_SIZE - 1, 70_000 * CHAIN_SIZE, 3 * CHAIN_SIZE][loot.below(4)] ?? 1),
  'an event is deleted': ({ events, heads }, loot) => ({ events: without(events, oneOf(events, loot)), heads }),
  'the last event of a chain is deleted, and the head is not': (trail, loot) => ({
    events: without(trail.events, chainIn(trail, loot).last),
    heads: trail.heads,
  }),
  'a run of events is deleted': ({ events, heads }, loot) => {
    const start = loot.below(events.length)
    return { events: without(events, ...events.slice(start, start + 1 + loot.below(5))), heads }
  },
  'all events of a chain are deleted, and the head is not': ({ events, heads }, loot) => {
    const { own } = chainIn({ events, heads }, loot)
    return { events: without(events, ...own), heads }
  },
  'a head is deleted': ({ events, heads }, loot) => ({ events, heads: without(heads, oneOf(heads, loot)) }),
  'all heads are deleted': ({ events }) => ({ events, heads: [] }),
  'an event is stored a second time': (trail, loot) => {
    const row = oneOf(trail.events, loot)
    return { events: byId([...trail.events, { ...row, id: chainIn(trail, loot).last.id + 1 }]), heads: trail.heads }
  },
  'a head is stored a second time': ({ events, heads }, loot) => ({
    events,
    heads: [...heads, { ...oneOf(heads, loot), id: 500 }],
  }),
  'two heads are swapped': ({ events, heads }, loot) => {
    const [one, other] = [oneOf(heads, loot), oneOf(heads, loot)]
    if (one === other) return undefined
    return { events, heads: changed(changed(heads, one, { body: other.body ?? null }), other, { body: one.body ?? null }) }
  },
  'an event is forged': (trail, loot) => {
    const { last } = chainIn(trail, loot)
    const body = Uint8Array.from({ length: bytesOf(last).length }, () => loot.below(256))
    return { events: byId([...trail.events, { ...last, id: last.id + 1, body }]), heads: trail.heads }
  },
  'an event is replaced by that of another vault': ({ events, heads }, loot) => {
    const stolen = oneOf(loot.foreign.events, loot)
    const row = events.find(({ id }) => id === stolen.id)
    return row && { events: changed(events, row, { body: stolen.body ?? null, at: stolen.at ?? null }), heads }
  },
  'the whole trail is replaced by that of another vault': (_, { foreign }) => foreign,
  'a time is changed': ({ events, heads }, loot) => {
    const row = oneOf(events, loot)
    const by = (loot.below(2) === 0 ? 1n : -1n) * BigInt(1 + loot.below(1_000_000_000))
    return { events: changed(events, row, { at: BigInt(row.at as number | bigint) + by }), heads }
  },
  'a time is deleted': ({ events, heads }, loot) => ({ events: changed(events, oneOf(events, loot), { at: null }), heads }),
  'an older head is restored, and the events are not': ({ events, heads }, loot) => {
    const row = oneOf(heads, loot)
    const older = loot.earlier.heads.find(({ id }) => id === row.id)
    return older && { events, heads: changed(heads, row, { body: older.body ?? null }) }
  },
  'all events are restored to an earlier state, and the heads are not': ({ heads }, { earlier }) => ({ ...earlier, heads }),
}

/** Tampering that only a checkpoint reveals: the trail equals an earlier state of itself. */
export const FOUND_BY_CHECKPOINT: Readonly<Record<string, Tampering>> = {
  'a chain is cut to an older head': ({ events, heads }, loot) => {
    const { chain } = chainIn({ events, heads }, loot)
    const older = loot.earlier.heads.find(({ id }) => id === chain)
    if (older === undefined) return undefined
    const kept = loot.earlier.events.filter((row) => chainOf(row) === chain)
    const last = kept.at(-1)?.id ?? 0
    return {
      events: events.filter((row) => chainOf(row) !== chain || row.id <= last),
      heads: heads.map((row) => (row.id === chain ? older : row)),
    }
  },
  'the whole trail is restored to an earlier state': (_, { earlier }) => earlier,
  'a chain is deleted with its head': ({ events, heads }, loot) => {
    const { chain, own } = chainIn({ events, heads }, loot)
    return { events: without(events, ...own), heads: heads.filter(({ id }) => id !== chain) }
  },
  'everything is deleted': () => ({ events: [], heads: [] }),
}
