/** Checks the definition of a schema, from builders or from plain JSON, and freezes it. */
import * as z from 'zod'
import { type Fault, fault, printableName, type Sentence, say, words } from '../errors.ts'
import { CONTENT_TYPE_PATTERN } from '../files/file-metadata.ts'
import { MAX_FILE_BYTES, MAX_TTL_MINUTES } from '../limits.ts'
import { compileMask } from '../redaction/masks.ts'
import { MaskError } from '../redaction/replacement.ts'
import { TokenFormatError } from '../tokens/token-format.ts'
import { compileFormat, type TokenFormatDefinition, type TokenPreset, tokenFormatShape } from '../tokens/token-formats.ts'
import { tokenKinds } from '../tokens/token-kinds.ts'
import { readInput } from '../util/boundary.ts'
import { ValueError } from '../values/column-type.ts'
import { columnTypes } from '../values/column-types.ts'
import { type Normalizer, normalize, normalizers, SELECTIVE } from '../values/normalizers.ts'
import { compileRules } from '../values/value-rules.ts'
import { type ColumnDefinition, type SchemaDefinition, type TableDefinition, tokenOf } from './column.ts'
import { nameProblem } from './names.ts'
import { optionProblem } from './option-problem.ts'

/** A checked schema. `tables` is its definition as plain JSON. */
export interface Schema<S extends SchemaDefinition = SchemaDefinition> {
  readonly tables: S
}

const maskShape = z.union(
  [
    z.strictObject({ preset: z.enum(['keepFirst', 'keepLast']), count: z.int().min(1).max(1000) }),
    z.strictObject({ preset: z.enum(['email', 'ssn', 'card']) }),
    z.strictObject({ find: z.string().min(1).max(1000), replace: z.string().max(1000) }),
  ],
  'must be a mask, such as mask.email or mask.keepFirst(1)',
)

const tokenShape = z.union(
  [
    z.enum(['random', 'deterministic', 'transient']),
    z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('random'), stable: z.boolean().optional() }),
      z.strictObject({ kind: z.literal('deterministic') }),
      z.strictObject({ kind: z.literal('transient'), ttlMinutes: z.int().min(1).max(MAX_TTL_MINUTES).optional() }),
      z.strictObject({ kind: z.literal('formatPreserving'), format: tokenFormatShape, stable: z.boolean().optional() }),
      z.strictObject({ kind: z.literal('deterministicFormatPreserving'), format: tokenFormatShape }),
    ]),
  ],
  "must be random, deterministic or transient, or a kind with its options, such as { kind: 'formatPreserving', format: 'card' }",
)

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
  normalize: z
    .array(z.enum(keysOf(normalizers)))
    .readonly()
    .optional(),
}

const fileShape = z.strictObject({
  type: z.literal('FILE'),
  redaction: common.redaction,
  allowedTypes: z
    .array(
      z
        .string()
        .regex(CONTENT_TYPE_PATTERN, 'must be a MIME type in lower case without parameters, such as image/png or image/*'),
    )
    .min(1)
    .max(1000)
    .readonly()
    .optional(),
  maxBytes: z.int().min(1).max(MAX_FILE_BYTES).optional(),
})

const otherTypes = keysOf(columnTypes).filter((name) => name !== 'STRING' && name !== 'INTEGER')

const columnShape = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('STRING'), ...common, ...textual }),
  z.strictObject({ type: z.literal('INTEGER'), ...common, oneOf: z.array(z.int()).min(1).max(1000).readonly().optional() }),
  fileShape,
  z.strictObject({ type: z.enum(otherTypes), ...common }),
])

/** What the compiler shows for a table or column whose name has an upper-case letter. */
export interface NameMustBeLowerCase<Name extends string> {
  readonly 'names have lower-case letters, digits and _ only': Name
}

/** Refuses names with upper-case letters, which queries would read as lower case. All names are checked at run time too. */
export type LowerCaseNames<S> = {
  readonly [T in keyof S & string]: string extends T
    ? unknown
    : T extends Lowercase<T>
      ? {
          readonly [C in keyof S[T] & string]: string extends C
            ? unknown
            : C extends Lowercase<C>
              ? unknown
              : NameMustBeLowerCase<C>
        }
      : NameMustBeLowerCase<T>
}

/**
 * Checks a schema and returns a frozen copy, with the types of its columns inferred. Accepts definitions from the `column` builders
 * or plain JSON. Throws `invalid_request`, with table and column in the details, for an invalid definition.
 */
export function defineSchema<const S extends SchemaDefinition>(tables: S & LowerCaseNames<S>): Schema<S> {
  return checkSchema<S>(tables)
}

/** The same for a definition whose names the compiler does not know, such as one of a type parameter. */
export function checkSchema<S extends SchemaDefinition>(tables: S): Schema<S> {
  return readInput(() => checkedSchema(tables))
}

function checkedSchema<S extends SchemaDefinition>(tables: S): Schema<S> {
  if (!isPlainObject(tables) || Object.keys(tables).length === 0) {
    throw fault('invalid_request')`Invalid schema: expected an object with at least one table.`
  }
  for (const [name, table] of Object.entries<TableDefinition>(tables)) assertTable(name, table)
  assertGroups(tables)
  return Object.freeze({ tables: deepFreeze(structuredCopy(tables)) })
}

function assertTable(name: string, table: TableDefinition): void {
  const problem = nameProblem(name)
  if (problem !== undefined) throw invalid(say`the name of table ${name} ${words(problem)}.`, name)
  if (!isPlainObject(table) || Object.keys(table).length === 0)
    throw invalid(say`table ${name} must be an object with at least one column.`, name)
  for (const [columnName, definition] of Object.entries(table)) assertColumn(name, columnName, definition)
}

/** Returns the options of a type; none if it is unknown. */
function optionsOf(definition: ColumnDefinition): string[] {
  const shape = columnShape.options.find(({ shape: { type } }) => type.safeParse(definition?.type).success)
  return Object.keys(shape?.shape ?? {}).filter((name) => name !== 'type')
}

function assertColumn(table: string, name: string, definition: ColumnDefinition): void {
  const where = say`column ${name} of table ${table}`
  const problem = nameProblem(name)
  if (problem !== undefined) throw invalid(say`the name of ${where} ${words(problem)}.`, table, name)
  const parsed = columnShape.safeParse(definition)
  if (!parsed.success) {
    const { before, after } = optionProblem(definition, parsed.error.issues[0], optionsOf(definition))
    throw invalid(say`${words(before)}${where} ${words(after)}`, table, name)
  }
  const clash = optionClash(definition)
  if (clash !== undefined) throw invalid(say`${where}: ${words(clash)}.`, table, name)
  try {
    if (definition.mask !== undefined) compileMask(definition.mask)
    compileRules(definition)
    assertToken(definition)
  } catch (error) {
    // The messages of these errors are clauses and quote no value.
    const isClause = error instanceof MaskError || error instanceof TokenFormatError || error instanceof ValueError
    if (!isClause) throw error
    const { message } = error
    throw invalid(say`${where}${words(error instanceof MaskError ? ', option "mask": ' : ' ')}${words(message)}.`, table, name)
  }
}

/** Throws `TokenFormatError` for a token kind that cannot use its format, or derives tokens from what normalizers leave of a value. */
function assertToken(definition: ColumnDefinition): void {
  const { kind, format } = tokenOf(definition)
  if (kind === undefined || format === undefined) return
  const problem = tokenKinds[kind].formatProblem(compileFormat(format))
  if (problem !== undefined) throw new TokenFormatError(problem)
  if (tokenKinds[kind].keeps !== 'nothing' || definition.type !== 'STRING') return
  const destroying = definition.normalize?.find((name) => !keepsForm(name, format))
  if (destroying !== undefined)
    throw new TokenFormatError(
      `has the normalizer ${destroying}, which destroys the form that its tokens have by their format; remove it, or use another format or kind`,
    )
}

/** The presets whose values still have their form after a normalizer that leaves a part of a text. */
const KEPT_FORMS: Readonly<Partial<Record<Normalizer, readonly TokenPreset[]>>> = {
  digits: ['digits', 'card'],
  phone: ['phone'],
  email: ['email'],
}

/** Number of texts of a pattern that are tried, from its first to its last. */
const TRIED_TEXTS = 997

/** True if a value of the format still has its form after the normalizer. */
function keepsForm(name: Normalizer, format: TokenFormatDefinition): boolean {
  if (typeof format === 'string' || 'preset' in format) {
    const preset = typeof format === 'string' ? format : format.preset
    return SELECTIVE[name] === undefined || KEPT_FORMS[name]?.includes(preset) === true
  }
  const { deterministic, rangeOf } = compileFormat(format)
  const { domain, tokenAt } = rangeOf('')
  for (let i = 0; i <= TRIED_TEXTS; i++) {
    const normal = normalize([name], tokenAt(((domain - 1n) * BigInt(i)) / BigInt(TRIED_TEXTS)))
    if (normal === undefined || deterministic?.rankOfToken(normal) === undefined) return false
  }
  return true
}

/** What must be equal in all columns of a column group, by its name in an error. */
const GROUP_OPTIONS: Readonly<Record<string, (definition: ColumnDefinition) => unknown>> = {
  type: (definition) => definition.type,
  'token kind': (definition) => tokenOf(definition).kind,
  'token format': (definition) => tokenOf(definition).format,
  normalize: (definition) => (definition.type === 'STRING' ? (definition.normalize ?? []) : []),
  mask: (definition) => definition.mask,
}

/** Throws `invalid_request` for a column group whose columns differ: a value would have two tokens, or be compared in two ways. */
function assertGroups(tables: SchemaDefinition): void {
  const first = new Map<string, { readonly where: Sentence; readonly definition: ColumnDefinition }>()
  for (const [table, columns] of Object.entries(tables)) {
    for (const [name, definition] of Object.entries(columns)) {
      if (definition.columnGroup === undefined) continue
      const where = say`column ${name} of table ${table}`
      const leader = first.get(definition.columnGroup) ?? { where, definition }
      first.set(definition.columnGroup, leader)
      for (const [option, settingOf] of Object.entries(GROUP_OPTIONS)) {
        if (JSON.stringify(settingOf(leader.definition)) === JSON.stringify(settingOf(definition))) continue
        const both = say`${leader.where} and ${where} are in column group ${definition.columnGroup}`
        throw invalid(say`${both} and must have the same ${words(option)}.`, table, name)
      }
    }
  }
}

/** Returns which options of a definition contradict each other, and what to write instead; undefined if none do. */
function optionClash(definition: ColumnDefinition): string | undefined {
  const plain = definition.encrypted === false
  if (plain && definition.searchable === true) return 'searchable is for encrypted columns; set index: true on a plain column'
  if (!plain && definition.index === true) return 'index is for plain columns; set searchable: true on an encrypted column'
  if (plain && 'normalize' in definition && definition.normalize !== undefined) {
    return 'normalize is for encrypted columns; remove it or encrypt the column'
  }
  if (definition.type === 'STRING' && (definition.normalize ?? []).filter((name) => name in SELECTIVE).length > 1) {
    return `normalize can have one of ${Object.keys(SELECTIVE).join(', ')}; remove the others`
  }
  if (
    plain &&
    (definition.unique === true || definition.index === true) &&
    (definition.type === 'JSON' || definition.type === 'ARRAY')
  ) {
    return 'plain JSON and ARRAY columns cannot be indexed; encrypt the column and make it unique or searchable'
  }
  const { kind } = tokenOf(definition)
  const groupProblem = definition.columnGroup === undefined ? undefined : nameProblem(definition.columnGroup)
  if (groupProblem !== undefined) return `the name of its columnGroup ${groupProblem}`
  if (kind !== undefined && tokenKinds[kind].hasFormat && definition.type !== 'STRING' && definition.type !== 'DATE') {
    return 'tokens with a format are for STRING and DATE columns'
  }
  if (kind !== undefined && tokenKinds[kind].expires && (plain || definition.unique === true || definition.searchable === true)) {
    return 'a transient column cannot be plain, unique or searchable; remove encrypted: false, unique and searchable'
  }
  return undefined
}

function invalid(sentence: Sentence, table: string, column?: string): Fault {
  const detail = { table: printableName(table), ...(column === undefined ? {} : { column: printableName(column) }) }
  return fault('invalid_request', detail)`Invalid schema: ${sentence}`
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
