/** Random tables for the laws of secrecy: columns of every type, plain and sealed, with every kind of token, looked up or not. */
import type { ColumnDefinition, SchemaDefinition } from '../../../src/core/schema/column.ts'
import type { Luck } from '../random/draws.ts'
import { below, chance, pick, some } from '../random/draws.ts'
import type { CanaryForm } from './canaries.ts'

/** A column under watch. */
export interface LeakColumn {
  readonly name: string
  readonly form: CanaryForm
  readonly definition: ColumnDefinition
}

/** A table under watch: `region` and `grade`, which policies ask, and columns that hold secrets. */
export interface LeakTable {
  readonly name: string
  readonly secrets: readonly LeakColumn[]
  readonly columns: readonly LeakColumn[]
}

/** Columns that conditions of policies are about. Their few values are no secret of anybody. */
export const ASKED = ['region', 'grade'] as const
/** What `region` may hold. */
export const REGIONS = ['north', 'south', 'east', null] as const
/** What `grade` may hold. */
export const GRADES = [1, 5, 9, null] as const

const FORMS: readonly CanaryForm[] = [
  'STRING',
  'STRING',
  'STRING',
  'CARD',
  'EMAIL',
  'INTEGER',
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
export function randomTables(luck: Luck): LeakTable[] {
  return some(luck, ['persons', 'orders'], 1 + below(luck, 2)).map((name) => {
    const secrets = Array.from({ length: 3 + below(luck, 5) }, (_, index) => randomColumn(luck, `c${index}`))
    return { name, secrets, columns: [...askedColumns(luck), ...secrets] }
  })
}

/** The definition a vault is opened with. */
export function schemaOf(tables: readonly LeakTable[]): SchemaDefinition {
  return Object.fromEntries(
    tables.map(({ name, columns }) => [name, Object.fromEntries(columns.map((column) => [column.name, column.definition]))]),
  )
}

/** True for a column whose values storage never sees. */
export function isSealed({ definition }: LeakColumn): boolean {
  return definition.encrypted !== false
}

/** The kind of a column's tokens. */
export function tokenKindOf({ definition }: LeakColumn): string | undefined {
  return typeof definition.token === 'object' ? definition.token.kind : definition.token
}

/** True for a column whose token stays when its value changes. */
export function isStable({ definition: { token } }: LeakColumn): boolean {
  return typeof token === 'object' && 'stable' in token && token.stable === true
}

function askedColumns(luck: Luck): LeakColumn[] {
  const keeping = () => pick(luck, [{ encrypted: false }, { encrypted: false, index: true }, { searchable: true }, {}])
  const level = () => ({ redaction: pick(luck, LEVELS) })
  return [
    { name: 'region', form: 'STRING', definition: { type: 'STRING', ...keeping(), ...level() } },
    { name: 'grade', form: 'INTEGER', definition: { type: 'INTEGER', ...keeping(), ...level() } },
  ]
}

function randomColumn(luck: Luck, name: string): LeakColumn {
  const form = pick(luck, FORMS)
  const redaction = { redaction: pick(luck, LEVELS) }
  if (form === 'CARD') return { name, form, definition: { type: 'STRING', ...redaction, ...cardOptions(luck) } }
  if (form === 'EMAIL') return { name, form, definition: { type: 'STRING', ...redaction, ...emailOptions(luck) } }
  if (form === 'STRING') return { name, form, definition: { type: 'STRING', ...redaction, ...textOptions(luck) } }
  const isList = form === 'JSON' || form === 'ARRAY'
  const plain = isList ? {} : { index: chance(luck, 0.5) }
  const keeping = chance(luck, 0.25) ? { encrypted: false, ...plain } : sealedOptions(luck, form !== 'BOOL')
  const token = chance(luck, 0.4) ? { token: pick(luck, ['random', { kind: 'random', stable: true }] as const) } : {}
  return { name, form, definition: { type: form, ...redaction, ...keeping, ...token } }
}

function sealedOptions(luck: Luck, mayBeUnique: boolean): { readonly unique?: boolean; readonly searchable?: boolean } {
  if (mayBeUnique && chance(luck, 0.25)) return { unique: true }
  return chance(luck, 0.3) ? { searchable: true } : {}
}

const TEXT_MASKS = [
  { preset: 'keepFirst', count: 2 },
  { preset: 'keepLast', count: 3 },
  { find: '[a-z]+', replace: '#' },
] as const

function textOptions(luck: Luck): Omit<Extract<ColumnDefinition, { readonly type: 'STRING' }>, 'type'> {
  if (chance(luck, 0.2)) return { token: { kind: 'transient', ttlMinutes: 60 } }
  // Members of a group agree on everything, so all of its columns are alike.
  if (chance(luck, 0.25)) return { token: 'deterministic', columnGroup: 'kin' }
  const mask = chance(luck, 0.5) ? { mask: pick(luck, TEXT_MASKS) } : {}
  if (chance(luck, 0.2)) return { ...mask, encrypted: false, index: chance(luck, 0.5) }
  const token = pick(luck, ['random', 'deterministic', { kind: 'random', stable: true }, undefined] as const)
  return { ...mask, ...sealedOptions(luck, true), ...(token === undefined ? {} : { token }) }
}

function cardOptions(luck: Luck): Omit<Extract<ColumnDefinition, { readonly type: 'STRING' }>, 'type'> {
  const format = { preset: 'card', keepFirst: 4 } as const
  const kind = pick(luck, ['formatPreserving', 'deterministicFormatPreserving', undefined] as const)
  return {
    ...sealedOptions(luck, true),
    ...(chance(luck, 0.5) ? { mask: { preset: 'card' } as const } : {}),
    ...(kind === undefined
      ? {}
      : { token: kind === 'formatPreserving' ? { kind, format, stable: chance(luck, 0.4) } : { kind, format } }),
  }
}

function emailOptions(luck: Luck): Omit<Extract<ColumnDefinition, { readonly type: 'STRING' }>, 'type'> {
  return {
    ...sealedOptions(luck, true),
    normalise: ['trim', 'lowercase'],
    ...(chance(luck, 0.5) ? { mask: { preset: 'email' } as const } : {}),
    ...(chance(luck, 0.5) ? { token: { kind: 'formatPreserving', format: { preset: 'email' } } as const } : {}),
  }
}
