/** Random tables for the leak checks: columns of every type, plain and sealed, with every kind of token, with and without an index. */
import type { ColumnDefinition, SchemaDefinition } from '../../../src/core/schema/column.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import type { CanaryForm } from './canaries.ts'

/** A column with canaries. */
export interface LeakColumn {
  readonly name: string
  readonly form: CanaryForm
  readonly definition: ColumnDefinition
}

/** A table: `region` and `grade`, which policies test, and columns with secrets. */
export interface LeakTable {
  readonly name: string
  readonly secrets: readonly LeakColumn[]
  readonly columns: readonly LeakColumn[]
}

/** Columns that policy conditions test. Their few values are not secret. */
export const ASKED = ['region', 'grade'] as const
/** Values of `region`. */
export const REGIONS = ['north', 'south', 'east', null] as const
/** Values of `grade`. */
export const GRADES = [1, 5, 9, null] as const

const FORMS: readonly CanaryForm[] = [
  'STRING',
  'STRING',
  'STRING',
  'CARD',
  'EMAIL',
  'INTEGER',
  'DECIMAL',
  'FLOAT',
  'BOOL',
  'DATE',
  'TIME',
  'DATETIME',
  'JSON',
  'ARRAY',
]
const LEVELS = ['PLAIN_TEXT', 'PLAIN_TEXT', 'MASKED', 'REDACTED'] as const

/** One table or two. */
export function randomTables(random: SeededRandom): LeakTable[] {
  return random.sample(['persons', 'orders'], 1 + random.below(2)).map((name) => {
    const secrets = Array.from({ length: 3 + random.below(5) }, (_, index) => randomColumn(random, `c${index}`))
    return { name, secrets, columns: [...askedColumns(random), ...secrets] }
  })
}

/** The definition a vault is opened with. */
export function schemaOf(tables: readonly LeakTable[]): SchemaDefinition {
  return Object.fromEntries(
    tables.map(({ name, columns }) => [name, Object.fromEntries(columns.map((column) => [column.name, column.definition]))]),
  )
}

/** True for a column whose values are stored sealed only. */
export function isSealed({ definition }: LeakColumn): boolean {
  return definition.encrypted !== false
}

/** The kind of a column's tokens. */
export function tokenKindOf({ definition }: LeakColumn): string | undefined {
  return typeof definition.token === 'object' ? definition.token.kind : definition.token
}

/** True for a column whose token is kept when its value changes. */
export function isStable({ definition: { token } }: LeakColumn): boolean {
  return typeof token === 'object' && 'stable' in token && token.stable === true
}

function askedColumns(random: SeededRandom): LeakColumn[] {
  const keeping = () => random.pick([{ encrypted: false }, { encrypted: false, index: true }, { searchable: true }, {}])
  const level = () => ({ redaction: random.pick(LEVELS) })
  return [
    { name: 'region', form: 'STRING', definition: { type: 'STRING', ...keeping(), ...level() } },
    { name: 'grade', form: 'INTEGER', definition: { type: 'INTEGER', ...keeping(), ...level() } },
  ]
}

function randomColumn(random: SeededRandom, name: string): LeakColumn {
  const form = random.pick(FORMS)
  const redaction = { redaction: random.pick(LEVELS) }
  if (form === 'CARD') return { name, form, definition: { type: 'STRING', ...redaction, ...cardOptions(random) } }
  if (form === 'EMAIL') return { name, form, definition: { type: 'STRING', ...redaction, ...emailOptions(random) } }
  if (form === 'STRING') return { name, form, definition: { type: 'STRING', ...redaction, ...textOptions(random) } }
  const isList = form === 'JSON' || form === 'ARRAY'
  const plain = isList ? {} : { index: random.chance(0.5) }
  const keeping = random.chance(0.25)
    ? { encrypted: false, ...plain }
    : { ...sealedOptions(random, form !== 'BOOL'), ...(isList ? {} : indexOptions(random)) }
  const token = random.chance(0.4) ? { token: random.pick(['random', { kind: 'random', stable: true }] as const) } : {}
  const mask = random.chance(0.3) ? { mask: random.pick(TEXT_MASKS) } : {}
  const common = { ...redaction, ...keeping, ...token, ...mask }
  return { name, form, definition: form === 'DECIMAL' ? { type: form, scale: 8, ...common } : { type: form, ...common } }
}

function sealedOptions(random: SeededRandom, mayBeUnique: boolean): { readonly unique?: boolean; readonly searchable?: boolean } {
  if (mayBeUnique && random.chance(0.25)) return { unique: true }
  return random.chance(0.3) ? { searchable: true } : {}
}

function indexOptions(random: SeededRandom): { readonly index?: 'sealed' } {
  return random.chance(0.5) ? { index: 'sealed' } : {}
}

/** Of texts, an index of what they contain too. */
function textIndexOptions(random: SeededRandom): Pick<Extract<ColumnDefinition, { readonly type: 'STRING' }>, 'index'> {
  return random.chance(0.5) ? { index: random.pick(['sealed', { sealed: ['contains'] }, { sealed: ['order', 'contains'] }]) } : {}
}

const TEXT_MASKS = [
  { preset: 'keepFirst', count: 2 },
  { preset: 'keepLast', count: 3 },
  { find: '[a-z]+', replace: '#' },
] as const

function textOptions(random: SeededRandom): Omit<Extract<ColumnDefinition, { readonly type: 'STRING' }>, 'type'> {
  if (random.chance(0.2)) return { token: { kind: 'transient', ttlMinutes: 60 } }
  // All columns of a group must have equal definitions.
  if (random.chance(0.25)) return { token: 'deterministic', columnGroup: 'kin' }
  const mask = random.chance(0.5) ? { mask: random.pick(TEXT_MASKS) } : {}
  if (random.chance(0.2)) return { ...mask, encrypted: false, index: random.chance(0.5) }
  const token = random.pick(['random', 'deterministic', { kind: 'random', stable: true }, undefined] as const)
  return { ...mask, ...sealedOptions(random, true), ...textIndexOptions(random), ...(token === undefined ? {} : { token }) }
}

function cardOptions(random: SeededRandom): Omit<Extract<ColumnDefinition, { readonly type: 'STRING' }>, 'type'> {
  const format = { preset: 'card', keepFirst: 4 } as const
  const kind = random.pick(['formatPreserving', 'deterministicFormatPreserving', undefined] as const)
  return {
    ...sealedOptions(random, true),
    ...textIndexOptions(random),
    ...(random.chance(0.5) ? { mask: { preset: random.pick(['card', 'cardBin'] as const) } } : {}),
    ...(kind === undefined
      ? {}
      : { token: kind === 'formatPreserving' ? { kind, format, stable: random.chance(0.4) } : { kind, format } }),
  }
}

function emailOptions(random: SeededRandom): Omit<Extract<ColumnDefinition, { readonly type: 'STRING' }>, 'type'> {
  return {
    ...sealedOptions(random, true),
    ...textIndexOptions(random),
    normalize: ['trim', 'lowercase'],
    ...(random.chance(0.5) ? { mask: { preset: 'email' } as const } : {}),
    ...(random.chance(0.5) ? { token: { kind: 'formatPreserving', format: { preset: 'email' } } as const } : {}),
  }
}
