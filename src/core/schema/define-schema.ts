/** Checks a schema, from builders or from plain JSON, and freezes it. */
import { z } from 'zod'
import { printableName, VaultError } from '../errors.ts'
import { LONGEST_TTL_MINUTES } from '../limits.ts'
import { compileMask } from '../redaction/masks.ts'
import { TokenFault } from '../tokens/token-format.ts'
import { compileFormat, tokenFormatShape } from '../tokens/token-formats.ts'
import { tokenKinds } from '../tokens/token-kinds.ts'
import { columnTypes } from '../values/column-types.ts'
import { normalisers } from '../values/normalisers.ts'
import { compileRules } from '../values/value-rules.ts'
import type { ColumnDefinition, SchemaDefinition, TableDefinition } from './column.ts'
import { tokenOf } from './column.ts'
import { nameFault } from './names.ts'

/** A checked schema; `tables` is the plain JSON it was made of. */
export interface Schema<S extends SchemaDefinition = SchemaDefinition> {
  readonly tables: S
}

const maskShape = z.union([
  z.strictObject({ preset: z.enum(['keepFirst', 'keepLast']), count: z.int().min(1).max(1000) }),
  z.strictObject({ preset: z.enum(['email', 'ssn', 'card']) }),
  z.strictObject({ find: z.string().min(1).max(1000), replace: z.string().max(1000) }),
])

const tokenShape = z.union([
  z.enum(['random', 'deterministic', 'transient']),
  z.strictObject({ kind: z.literal('random'), stable: z.boolean().optional() }),
  z.strictObject({ kind: z.literal('deterministic') }),
  z.strictObject({ kind: z.literal('transient'), ttlMinutes: z.int().min(1).max(LONGEST_TTL_MINUTES).optional() }),
  z.strictObject({ kind: z.literal('formatPreserving'), format: tokenFormatShape, stable: z.boolean().optional() }),
  z.strictObject({ kind: z.literal('deterministicFormatPreserving'), format: tokenFormatShape }),
])

const common = {
  required: z.boolean().optional(),
  unique: z.boolean().optional(),
  encrypted: z.boolean().optional(),
  index: z.boolean().optional(),
  searchable: z.boolean().optional(),
  redaction: z.enum(['PLAIN_TEXT', 'MASKED', 'REDACTED']).optional(),
  mask: maskShape.optional(),
  token: tokenShape.optional(),
  columnGroup: z.string().optional(),
}

const textual = {
  pattern: z.string().min(1).max(1000).optional(),
  maxLength: z.int().min(1).optional(),
  oneOf: z.array(z.string()).min(1).max(1000).readonly().optional(),
  normalise: z
    .array(z.enum(keysOf(normalisers)))
    .readonly()
    .optional(),
}

const otherTypes = keysOf(columnTypes).filter((name) => name !== 'STRING' && name !== 'INTEGER')

const columnShape = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('STRING'), ...common, ...textual }),
  z.strictObject({ type: z.literal('INTEGER'), ...common, oneOf: z.array(z.int()).min(1).max(1000).readonly().optional() }),
  z.strictObject({ type: z.enum(otherTypes), ...common }),
])

/**
 * Checks a schema and answers it frozen, with the types of its columns inferred. Takes what the `column` builders
 * make, or the same as plain JSON. Throws `VaultError('invalid_request')` naming table, column and fault.
 */
export function defineSchema<const S extends SchemaDefinition>(tables: S): Schema<S> {
  if (!isPlainObject(tables) || Object.keys(tables).length === 0) {
    throw new VaultError('invalid_request', 'Schema refused. Give an object of tables by name, at least one.')
  }
  for (const [name, table] of Object.entries<TableDefinition>(tables)) assertTable(name, table)
  assertGroups(tables)
  return Object.freeze({ tables: deepFreeze(structuredCopy(tables)) })
}

function assertTable(name: string, table: TableDefinition): void {
  const fault = nameFault(name)
  if (fault !== undefined) throw refused(`The name of table ${printableName(name)} ${fault}.`, name)
  if (!isPlainObject(table) || Object.keys(table).length === 0)
    throw refused(`Table ${name} needs an object of columns by name, at least one.`, name)
  for (const [columnName, definition] of Object.entries(table)) assertColumn(name, columnName, definition)
}

function assertColumn(table: string, name: string, definition: ColumnDefinition): void {
  const where = `Column ${printableName(name)} of table ${table}`
  const fault = nameFault(name)
  if (fault !== undefined) throw refused(`The name of column ${printableName(name)} of table ${table} ${fault}.`, table, name)
  const parsed = columnShape.safeParse(definition)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    const option = issue?.path.map(String).join('.') ?? ''
    throw refused(`${where}${option === '' ? '' : `, option ${option}`}: ${issue?.message ?? 'is not a column'}.`, table, name)
  }
  const clash = optionClash(definition)
  if (clash !== undefined) throw refused(`${where}: ${clash}.`, table, name)
  try {
    if (definition.mask !== undefined) compileMask(definition.mask)
    compileRules(definition)
    assertToken(definition)
  } catch (error) {
    // MaskFault and ValueFault say what must hold and quote nothing.
    throw refused(`${where} ${error instanceof Error ? error.message : 'has a mask or pattern that is none'}.`, table, name)
  }
}

/** Refuses a token kind whose format will not do. Throws a fault whose message is a clause. */
function assertToken(definition: ColumnDefinition): void {
  const { kind, format } = tokenOf(definition)
  if (kind === undefined || format === undefined) return
  const fault = tokenKinds[kind].formatFault(compileFormat(format))
  if (fault !== undefined) throw new TokenFault(fault)
}

/** What the members of a column group must agree on, by the name an error gives it. */
const GROUP_OPTIONS: Readonly<Record<string, (definition: ColumnDefinition) => unknown>> = {
  type: (definition) => definition.type,
  'token kind': (definition) => tokenOf(definition).kind,
  'token format': (definition) => tokenOf(definition).format,
  normalise: (definition) => (definition.type === 'STRING' ? (definition.normalise ?? []) : []),
  mask: (definition) => definition.mask,
}

/** Refuses groups whose members disagree: one value would then have two tokens, or be compared in two ways. */
function assertGroups(tables: SchemaDefinition): void {
  const first = new Map<string, { readonly place: string; readonly definition: ColumnDefinition }>()
  for (const [table, columns] of Object.entries(tables)) {
    for (const [name, definition] of Object.entries(columns)) {
      if (definition.columnGroup === undefined) continue
      const place = `${table}.${name}`
      const leader = first.get(definition.columnGroup) ?? { place, definition }
      first.set(definition.columnGroup, leader)
      for (const [option, settingOf] of Object.entries(GROUP_OPTIONS)) {
        if (JSON.stringify(settingOf(leader.definition)) === JSON.stringify(settingOf(definition))) continue
        const sentence = `Columns ${leader.place} and ${place} are in group ${definition.columnGroup} and must have the same ${option}.`
        throw refused(sentence, table, name)
      }
    }
  }
}

/** Options that contradict each other, each with what to write instead. */
function optionClash(definition: ColumnDefinition): string | undefined {
  const plain = definition.encrypted === false
  if (plain && definition.searchable === true) return 'searchable is for encrypted columns; give a plain column index: true'
  if (!plain && definition.index === true) return 'index is for plain columns; give an encrypted column searchable: true'
  if (plain && 'normalise' in definition && definition.normalise !== undefined) {
    return 'normalise works on the digest of an encrypted column; leave it out or encrypt the column'
  }
  if (
    plain &&
    (definition.unique === true || definition.index === true) &&
    (definition.type === 'JSON' || definition.type === 'ARRAY')
  ) {
    return 'plain JSON and lists have no one written form to index; encrypt the column and make it unique or searchable'
  }
  const { kind } = tokenOf(definition)
  if (definition.columnGroup !== undefined && nameFault(definition.columnGroup) !== undefined) {
    return `the name of its columnGroup ${nameFault(definition.columnGroup) ?? ''}`
  }
  if (kind !== undefined && tokenKinds[kind].hasFormat && definition.type !== 'STRING' && definition.type !== 'DATE') {
    return 'tokens in a format are for STRING and DATE columns'
  }
  if (kind !== undefined && tokenKinds[kind].expires && (plain || definition.unique === true || definition.searchable === true)) {
    return 'transient values live apart from the record, sealed, and leave no digest; take out encrypted: false, unique and searchable'
  }
  return undefined
}

function refused(sentence: string, table: string, column?: string): VaultError {
  const facts = { table: printableName(table), ...(column === undefined ? {} : { column: printableName(column) }) }
  return new VaultError('invalid_request', `Schema refused. ${sentence}`, facts)
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function keysOf<K extends string>(record: Readonly<Record<K, unknown>>): [K, ...K[]] {
  return Object.keys(record) as [K, ...K[]] // Object.keys widens to string; the record's own type says which.
}

function structuredCopy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T // What columnShape accepted is plain JSON.
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) deepFreeze(member)
    Object.freeze(value)
  }
  return value
}
