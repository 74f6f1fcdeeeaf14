/** Two tables of the same columns, one with sealed indexes, random reads of them by value, and a model of what each read finds. */
import { column, defineSchema } from '../../../src/index.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import type { Cells } from '../vaults/open-untyped.ts'

const PLAIN = { redaction: 'PLAIN_TEXT' } as const
const SEALED = { ...PLAIN, index: 'sealed' } as const

const COLUMNS = {
  name: column.string(PLAIN),
  email: column.string({ ...PLAIN, searchable: true, normalize: ['lowercase'] }),
  age: column.integer(PLAIN),
  paid: column.decimal({ ...PLAIN, scale: 2 }),
  score: column.float(PLAIN),
  active: column.boolean(PLAIN),
  born: column.date(PLAIN),
  seen: column.datetime(PLAIN),
  country: column.string({ ...PLAIN, encrypted: false, index: true }),
}

export const INDEXED_AND_SCANNED = defineSchema({
  scanned: COLUMNS,
  indexed: {
    ...COLUMNS,
    name: column.string(SEALED),
    email: column.string({ ...SEALED, searchable: true, normalize: ['lowercase'] }),
    age: column.integer(SEALED),
    paid: column.decimal({ ...SEALED, scale: 2 }),
    score: column.float(SEALED),
    active: column.boolean(SEALED),
    born: column.date(SEALED),
    seen: column.datetime(SEALED),
  },
})

type Name = keyof typeof COLUMNS

/** A text of as many bytes as an order key can have: longer ones share its key. */
const LONG = 'long '.repeat(13)

/** Values of each column: few, so that many are equal. */
const VALUES: { readonly [N in Name]: readonly unknown[] } = {
  name: ['Ann', 'Anna', 'Bo', 'bo', 'Zoë', '\u{1f600}', '\uffee', '', LONG, `${LONG}a`, `${LONG}b`, `${LONG}ab`, '%_'],
  email: ['ann@acme.example', 'Ann@acme.example', 'bo@acme.example', 'BO@ACME.example'],
  age: [-1, 0, 1, 7, 40, '1152921504606846976', '1152921504606846977'],
  paid: ['-0.50', '0.00', '1.20', '1.25', '100.00'],
  score: [-2.5, 0, 1e-9, 0.5, 3e20],
  active: [true, false],
  born: ['1969-12-31', '1990-01-01', '2000-02-29', '2000-03-01'],
  seen: ['1969-12-31T23:59:59.999Z', '2020-01-01T00:00:00Z', '2020-01-01T00:00:00.001Z'],
  country: ['DE', 'SE', 'US'],
}

const NAMES = Object.keys(VALUES) as readonly Name[]

/** Fields of a record: each column mostly has a value. */
export function drawFields(random: SeededRandom): Cells {
  return Object.fromEntries(NAMES.map((name) => [name, random.chance(0.85) ? random.pick(VALUES[name]) : null]))
}

/** A read by value. */
export interface DrawnRead {
  readonly where?: Readonly<Record<string, unknown>>
  readonly orderBy?: string | { readonly column: string; readonly order?: 'ASCENDING' | 'DESCENDING' }
}

const BOUNDS = ['from', 'above', 'to', 'below'] as const

/** A read of some columns, in an order. */
export function drawRead(random: SeededRandom): DrawnRead {
  const where = Object.fromEntries(random.sample(NAMES, random.below(3)).map((name) => [name, drawTerm(random, name)]))
  const by = random.pick(NAMES)
  const orderBy = random.pick([
    undefined,
    'DESCENDING',
    by,
    { column: by },
    { column: by, order: 'DESCENDING' },
    { column: by, order: 'DESCENDING' },
  ] as const)
  return { ...(Object.keys(where).length === 0 ? {} : { where }), ...(orderBy === undefined ? {} : { orderBy }) }
}

function drawTerm(random: SeededRandom, name: Name): unknown {
  const values = VALUES[name]
  const draw = random.below(6)
  if (draw === 0) return null
  if (draw === 1) return random.pick(values)
  if (draw === 2) return random.sample(values, 1 + random.below(3))
  if (draw === 3 && name === 'name')
    return { prefix: random.pick(['A', 'An', 'long', LONG, `${LONG}a`, '\u{1f600}', '\uffee', 'Q']) }
  return Object.fromEntries(random.sample(BOUNDS, 1 + random.below(2)).map((bound) => [bound, random.pick(values)]))
}

/** A record of the model. */
export interface Modeled {
  readonly id: string
  readonly fields: Cells
}

/** Returns those of these records, which are in the order of their insertion, that a read finds, in its order. */
export function findInModel(records: readonly Modeled[], { where = {}, orderBy }: DrawnRead): readonly Modeled[] {
  const found = records.filter(({ fields }) =>
    Object.entries(where).every(([name, term]) => isMeant(name as Name, fields[name] ?? null, term)),
  )
  if (orderBy === undefined) return found
  if (orderBy === 'DESCENDING') return found.reverse()
  const { column: by, order = 'ASCENDING' } = typeof orderBy === 'string' ? { column: orderBy } : orderBy
  const sign = order === 'ASCENDING' ? 1 : -1
  return found.sort((left, right) => sign * compareWithNull(by as Name, left.fields[by], right.fields[by]))
}

function isMeant(name: Name, value: unknown, term: unknown): boolean {
  if (term === null || value === null) return term === value
  if (Array.isArray(term)) return term.some((one) => isEqual(name, value, one))
  if (typeof term !== 'object') return isEqual(name, value, term)
  return Object.entries(term).every(([bound, limit]) => {
    if (bound === 'prefix') return String(value).startsWith(String(limit))
    const order = compare(name, value, limit)
    if (bound === 'from') return order >= 0
    if (bound === 'above') return order > 0
    return bound === 'to' ? order <= 0 : order < 0
  })
}

function isEqual(name: Name, one: unknown, other: unknown): boolean {
  if (name === 'email') return String(one).toLowerCase() === String(other).toLowerCase()
  return compare(name, one, other) === 0
}

function compareWithNull(name: Name, left: unknown, right: unknown): number {
  return left === null || right === null ? Number(left === null) - Number(right === null) : compare(name, left, right)
}

function compare(name: Name, left: unknown, right: unknown): number {
  if (name === 'age') return Number(BigInt(String(left)) - BigInt(String(right)))
  if (name === 'seen') return Date.parse(String(left)) - Date.parse(String(right))
  if (name === 'paid' || name === 'score' || name === 'active') return Number(left) - Number(right)
  return Buffer.compare(Buffer.from(String(left)), Buffer.from(String(right)))
}
