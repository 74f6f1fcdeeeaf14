/** A model of what is kept, and random calls that are made to it and to a vault: an own reckoning of time, forwards. */
import { column } from '../../../src/index.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import type { LooseVault } from '../vaults/open-untyped.ts'

const HOUR = 3_600_000
export const DAY = 24 * HOUR
const PLAIN = { redaction: 'PLAIN_TEXT' } as const

export const KEPT_TABLES = {
  orders: {
    created: column.datetime(PLAIN),
    due: column.date({ encrypted: false, ...PLAIN }),
    iban: column.string({ unique: true, token: 'random', ...PLAIN }),
    memo: column.string({ encrypted: false, ...PLAIN }),
    phone: column.string({ token: { kind: 'formatPreserving', format: { pattern: '[0-9]{8}' } }, ...PLAIN }),
  },
  notes: { text: column.string({ token: 'transient', ...PLAIN }), at: column.string(PLAIN) },
}
export const KEPT_RULES = {
  retention: {
    orders: { expiresAfter: 'P60D', from: 'created' },
    'orders.iban': { expiresAfter: 'P2D', becomes: 'null' },
    'orders.memo': { expiresAfter: 'P5D', from: 'due', becomes: 'null' },
    'orders.phone': { expiresAfter: 'PT30H', from: 'created', becomes: 'null' },
    notes: { expiresAfter: 'P1D' },
  },
} as const

type Fields = Readonly<Record<string, string | null>>

/** A record as the model knows it. Times are in milliseconds since 1970. */
interface Known {
  readonly table: 'orders' | 'notes'
  fields: Fields
  readonly born: number
  ibanAt: number
}

/** The model, beside its vault. */
export interface KeptWorld {
  readonly vault: LooseVault
  readonly random: SeededRandom
  readonly model: Map<string, Known>
}

const up = (ms: number): number => Math.ceil(ms / HOUR) * HOUR
const isSet = (value: string | null | undefined): value is string => value !== null && value !== undefined

/** Does to the model what a sweep does to the vault. Returns the counts by rule. */
function sweepModel({ model, vault: { clock } }: KeptWorld): Record<string, number> {
  const counts = Object.fromEntries(Object.keys(KEPT_RULES.retention).map((rule) => [rule, 0]))
  const count = (rule: string): void => {
    counts[rule] = (counts[rule] ?? 0) + 1
  }
  for (const [id, known] of model) {
    if (isGone(known, clock.ms)) {
      model.delete(id)
      count(known.table)
      continue
    }
    for (const name of emptied(known, clock.ms)) {
      known.fields = { ...known.fields, [name]: null }
      count(`orders.${name}`)
    }
  }
  return counts
}

function isGone({ table, fields: { created }, born }: Known, now: number): boolean {
  if (table === 'notes') return up(born) + DAY <= now
  return isSet(created) && up(Date.parse(created)) + 60 * DAY <= now
}

function emptied({ fields, ibanAt }: Known, now: number): string[] {
  const isDue: Readonly<Record<string, boolean>> = {
    iban: up(ibanAt) + 2 * DAY <= now,
    memo: isSet(fields.due) && Date.parse(fields.due) + 5 * DAY <= now,
    phone: isSet(fields.created) && up(Date.parse(fields.created)) + 30 * HOUR <= now,
  }
  return Object.keys(isDue).filter((name) => isDue[name] === true && isSet(fields[name]))
}

let next = 0

function randomFields({ random, vault: { clock } }: KeptWorld): Fields {
  const at = new Date(clock.ms - Math.floor(random() * 4 * DAY)).toISOString()
  next++
  const all: Fields = {
    created: `${at.slice(0, 20)}123Z`,
    due: at.slice(0, 10),
    iban: `DE${next}`,
    memo: `m${next}`,
    phone: String(10_000_000 + next),
  }
  const chosen = Object.entries(all).filter(() => random() < 0.7)
  return Object.fromEntries(chosen.map(([name, value]) => [name, random() < 0.2 ? null : value]))
}

/** Writes something, to the vault and to the model, some hours later. */
async function randomWrite(world: KeptWorld): Promise<void> {
  const { vault, random, model } = world
  const { session, clock } = vault
  clock.ms += Math.floor(random() * 5 * HOUR)
  const id = [...model.keys()][Math.floor(random() * model.size * 2)] ?? ''
  const known = model.get(id)
  if (known === undefined) {
    const table = random() < 0.7 ? 'orders' : 'notes'
    const fields = table === 'orders' ? randomFields(world) : { text: 'a secret', at: 'x' }
    const stored = await session.insertOne(table, fields)
    model.set(stored.id, { table, fields, born: clock.ms, ibanAt: clock.ms })
  } else if (known.table === 'orders') {
    const changed = randomFields(world)
    if (Object.keys(changed).length === 0) return
    await session.updateOne('orders', id, changed)
    known.fields = { ...known.fields, ...changed }
    if (changed.iban !== undefined) known.ibanAt = clock.ms
  } else {
    await session.delete('notes', [id])
    model.delete(id)
  }
}

/** Writes and sweeps at random. Returns what a sweep left or counted otherwise than the model does; undefined if nothing. `aheadMs`: how far the clock of the sweeps is ahead. */
export async function findMismatch(world: KeptWorld, steps: number, aheadMs = 0): Promise<unknown> {
  const { vault, random } = world
  for (let step = 0; step < steps; step++) {
    await randomWrite(world)
    if (random() > 0.15 && step < steps - 1) continue
    if (step === steps - 1) vault.clock.ms += 100 * DAY
    vault.clock.ms += aheadMs
    const { expired } = await vault.vault.sweep()
    vault.clock.ms -= aheadMs
    const counts = sweepModel(world)
    const { found, expected } = await keptRecords(world)
    if (JSON.stringify([expired, found]) !== JSON.stringify([counts, expected])) return { step, expired, counts, found, expected }
  }
  return undefined
}

/** Returns all records of the vault and those of the model, in one form, to compare them. */
async function keptRecords({ vault: { session }, model }: KeptWorld) {
  const { records: orders } = await session.get('orders', { limit: 1000 })
  const { records: notes } = await session.get('notes', { limit: 1000 })
  const line = (id: string, fields: Readonly<Record<string, unknown>>) =>
    `${id} ${['created', 'due', 'iban', 'memo', 'phone'].map((name) => fields[name] ?? '-').join(' ')}`
  const found = [...orders.map(({ id, fields }) => line(id, fields)), ...notes.map(({ id }) => line(id, {}))].sort()
  const expected = [...model].map(([id, { table, fields }]) => line(id, table === 'orders' ? fields : {})).sort()
  return { found, expected }
}
