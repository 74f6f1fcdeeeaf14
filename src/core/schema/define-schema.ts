/** Checks the definition of a schema, from builders or from plain JSON, and freezes it. */
import { type Fault, fault, printableName, type Sentence, say, words } from '../errors.ts'
import { compileMask, MaskError } from '../redaction.ts'
import { TokenFormatError } from '../tokens/token-format.ts'
import { compileFormat, type TokenFormatDefinition, type TokenPreset } from '../tokens/token-formats.ts'
import { tokenKinds } from '../tokens/token-kinds.ts'
import { readInput } from '../util/boundary.ts'
import { ValueError } from '../values/column-type.ts'
import { type AnyColumnType, typesThat } from '../values/column-types.ts'
import { type Normalizer, normalize, SELECTIVE } from '../values/normalizers.ts'
import { compileRules } from '../values/value-rules.ts'
import {
  type ColumnDefinition,
  isTransient,
  normalizersOf,
  type SchemaDefinition,
  sealedKinds,
  type TableDefinition,
  tokenOf,
  typeOf,
} from './column.ts'
import { shapeProblem } from './column-shape.ts'
import type { WithTogether } from './infer.ts'
import { nameProblem } from './names.ts'
import { assertRetention } from './retention.ts'
import { type RulesFor, rulesShape, type SchemaRules, type TogetherIn } from './schema-rules.ts'
import { assertSubjects } from './subjects.ts'
import { assertTogether } from './unique-together.ts'

/** A checked schema, as plain JSON: its tables, and the rules that concern more than one column. */
export interface Schema<S extends SchemaDefinition = SchemaDefinition> {
  readonly tables: S
  readonly rules: SchemaRules
}

/**
 * In place of a schema, opens a vault with the schema that is stored, for tools that have none. Nothing of it is changed, and no vault is founded: an empty
 * storage is `failed_precondition`.
 */
export const storedSchema: Schema = Object.freeze({ tables: Object.freeze({}), rules: Object.freeze({}) })

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
export function defineSchema<
  const S extends SchemaDefinition,
  const U extends TogetherIn<NoInfer<S>> = Readonly<Record<never, never>>,
>(tables: S & LowerCaseNames<S>, rules: RulesFor<NoInfer<S>, U> = {}): Schema<keyof U extends never ? S : WithTogether<S, U>> {
  // Its tables and columns are names of the schema, whose type says what is unique together.
  return checkSchema<S>(tables, rules as object) as Schema<keyof U extends never ? S : WithTogether<S, U>>
}

/** The same for a definition whose names the compiler does not know, such as one of a type parameter. */
export function checkSchema<S extends SchemaDefinition>(tables: S, rules: SchemaRules = {}): Schema<S> {
  return readInput(() => checkedSchema(tables, rules))
}

function checkedSchema<S extends SchemaDefinition>(tables: S, rules: SchemaRules): Schema<S> {
  if (!isPlainObject(tables) || Object.keys(tables).length === 0) {
    throw fault('invalid_request')`Invalid schema: expected an object with at least one table.`
  }
  for (const [name, table] of Object.entries<TableDefinition>(tables)) assertTable(name, table)
  assertGroups(tables)
  const checked = checkedRules(rules)
  assertSubjects(tables, checked.subjects)
  assertTogether(tables, checked)
  assertRetention(tables, checked.retention ?? {})
  return Object.freeze({ tables: deepFreeze(structuredCopy(tables)), rules: deepFreeze(structuredCopy(checked)) })
}

function checkedRules(rules: SchemaRules): SchemaRules {
  const parsed = rulesShape.safeParse(rules)
  if (parsed.success) return parsed.data as SchemaRules // An absent member is not undefined.
  const path = parsed.error.issues[0]?.path.map((part) => printableName(part)).join('.') ?? ''
  throw fault(
    'invalid_request',
  )`Invalid schema: the rules ${words(path === '' ? '' : `at ${path} `)}are not of the form of uniqueTogether, subjects or retention.`
}

function assertTable(name: string, table: TableDefinition): void {
  const problem = nameProblem(name)
  if (problem !== undefined) throw invalid(say`the name of table ${name} ${words(problem)}.`, name)
  if (!isPlainObject(table) || Object.keys(table).length === 0)
    throw invalid(say`table ${name} must be an object with at least one column.`, name)
  for (const [columnName, definition] of Object.entries(table)) assertColumn(name, columnName, definition)
}

function assertColumn(table: string, name: string, definition: ColumnDefinition): void {
  const where = say`column ${name} of table ${table}`
  const problem = nameProblem(name)
  if (problem !== undefined) throw invalid(say`the name of ${where} ${words(problem)}.`, table, name)
  const shaped = shapeProblem(definition)
  if (shaped !== undefined) throw invalid(say`${words(shaped.before)}${where} ${words(shaped.after)}`, table, name)
  const clash = optionClash(definition)
  if (clash !== undefined) throw invalid(say`${where}: ${words(clash)}.`, table, name)
  try {
    if (definition.mask !== undefined) compileMask(definition.mask)
    compileRules(definition, typeOf(definition))
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
  if (tokenKinds[kind].keeps !== 'nothing') return
  const destroying = normalizersOf(definition).find((name) => !keepsForm(name, format))
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
  iban: ['iban'],
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
  scale: (definition) => typeOf(definition).scale,
  'token kind': (definition) => tokenOf(definition).kind,
  'token format': (definition) => tokenOf(definition).format,
  normalize: normalizersOf,
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
  if (plain && 'normalize' in definition && definition.normalize !== undefined) {
    return 'normalize is for encrypted columns; remove it or encrypt the column'
  }
  if (normalizersOf(definition).filter((name) => name in SELECTIVE).length > 1) {
    return `normalize can have one of ${Object.keys(SELECTIVE).join(', ')}; remove the others`
  }
  const type = typeOf(definition)
  if (plain && (definition.unique === true || definition.index === true) && !isComparable(type)) {
    return `plain ${typesThat((one) => !isComparable(one), 'and')} columns cannot be indexed; encrypt the column and make it unique or searchable`
  }
  const { kind } = tokenOf(definition)
  const groupProblem = definition.columnGroup === undefined ? undefined : nameProblem(definition.columnGroup)
  if (groupProblem !== undefined) return `the name of its columnGroup ${groupProblem}`
  if (kind !== undefined && tokenKinds[kind].hasFormat && !hasFormats(type)) {
    return `tokens with a format are for ${typesThat(hasFormats, 'and')} columns`
  }
  if (kind !== undefined && tokenKinds[kind].expires && (plain || definition.unique === true || definition.searchable === true)) {
    return 'a transient column cannot be plain, unique or searchable; remove encrypted: false, unique and searchable'
  }
  return indexClash(definition)
}

/** The same of the option index. */
function indexClash(definition: ColumnDefinition): string | undefined {
  const plain = definition.encrypted === false
  if (!plain && definition.index === true)
    return "index: true is for plain columns; set searchable: true, or index: 'sealed', on an encrypted column"
  if (sealedKinds(definition).length === 0) return undefined
  if (plain) return "index: 'sealed' is for encrypted columns; set index: true on a plain column"
  if (sealedKinds(definition).includes('contains') && definition.type !== 'STRING')
    return "an index of what a value contains is for STRING columns; set index: 'sealed'"
  if (typeOf(definition).keyForm === undefined)
    return `${typesThat(({ keyForm }) => keyForm === undefined, 'and')} columns have no order, which an index needs; remove index`
  if (isTransient(definition)) return 'a transient column has no index, which would outlive its values; remove index'
  return undefined
}

function isComparable({ comparesAs }: AnyColumnType): boolean {
  return comparesAs !== undefined
}

function hasFormats(type: AnyColumnType): boolean {
  return type.hasFormats === true
}

function invalid(sentence: Sentence, table: string, column?: string): Fault {
  const detail = { table: printableName(table), ...(column === undefined ? {} : { column: printableName(column) }) }
  return fault('invalid_request', detail)`Invalid schema: ${sentence}`
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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
