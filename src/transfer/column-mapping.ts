/** From the fields of a source to the columns of a table. */
import { assertOptions } from '../core/util/options.ts'
import type { CsvRecord } from './csv-records.ts'
import type { JsonLine } from './json-lines.ts'
import { refusedSource } from './source-text.ts'
import {
  type Convert,
  compileFormat,
  type EmptyValue,
  FORMAT_OPTIONS,
  invalid,
  type ValueForm,
  type ValueFormat,
} from './value-formats.ts'

/** Where a field of a source goes: a column, the token of a column, or nowhere. */
export type Target = string | ({ readonly column: string } & ValueFormat) | { readonly token: string } | null

/** Targets by the header of a CSV source, or the member of an NDJSON one; of a CSV source without a header, by position. */
export type ColumnMapping = Readonly<Record<string, Target>> | readonly Target[]

/** A record for the vault. */
export interface MappedRecord {
  readonly fields: Readonly<Record<string, unknown>>
  readonly tokens?: Readonly<Record<string, unknown>>
}

/** Why a record cannot be mapped: a clause that follows the name of the column, or a sentence without one. */
export interface Problem {
  readonly column?: string
  readonly problem: string
}

/** What holds for every column that says nothing else. */
export interface Defaults {
  readonly trim: boolean
  readonly empty: EmptyValue
  readonly form: ValueForm
}

/** A target that was checked. */
interface Compiled {
  readonly column: string
  readonly isToken: boolean
  readonly trim: boolean
  readonly empty: EmptyValue
  readonly convert: Convert | undefined
}

const TARGET_OPTIONS = ['column', ...FORMAT_OPTIONS] as const

/** Returns a target as it is used; undefined for a field that is left out. Throws `invalid_request`. */
function compileTarget(target: Target, defaults: Defaults, of: string): Compiled | undefined {
  if (target === null) return undefined
  if (typeof target === 'string') return { column: target, isToken: false, convert: undefined, ...defaults }
  if (typeof target === 'object' && 'token' in target) {
    assertOptions<{ token: string }>(target, ['token'], { of: 'importRecords', member: of })
    if (typeof target.token !== 'string') throw invalid(of, 'has a token that is not the name of a column')
    return { column: target.token, isToken: true, convert: undefined, ...defaults }
  }
  assertOptions<Extract<Target, { column: string }>>(target, TARGET_OPTIONS, { of: 'importRecords', member: of })
  const { column, ...format } = target
  if (typeof column !== 'string') throw invalid(of, 'has a column that is not a name')
  const { trim = defaults.trim, empty = defaults.empty } = format
  return { column, isToken: false, trim, empty, convert: compileFormat(format, defaults.form, of) }
}

/** The mapping of a CSV source. */
export interface CsvMapping {
  /** The columns that are written, and the field of each, from 1. */
  readonly columns: readonly { readonly name: string; readonly field: number }[]
  readonly width: number
  readonly hasTokens: boolean
  map(record: CsvRecord): MappedRecord | Problem
}

/** Returns the mapping of a source with this header. Throws `invalid_request` for a name that is there twice, or that the mapping has and the header has not. */
export function csvMapping(header: readonly string[], mapping: Readonly<Record<string, Target>>, defaults: Defaults): CsvMapping {
  const names = header.map((name) => name.trim())
  for (const [index, name] of names.entries()) {
    if (name === '') throw refusedSource(1, `field ${index + 1} of the header has no name.`)
    const first = names.indexOf(name)
    if (first < index) throw refusedSource(1, `fields ${first + 1} and ${index + 1} of the header have the same name.`)
  }
  for (const name of Object.keys(mapping))
    if (!names.includes(name)) throw invalid(`columns["${name}"]`, 'names a field that the header does not have')
  return mappingOf(
    names.map((name) => (Object.hasOwn(mapping, name) ? (mapping[name] ?? null) : name)),
    defaults,
    (index) => (Object.hasOwn(mapping, names[index] ?? '') ? `columns["${names[index]}"]` : `columns of field ${index + 1}`),
  )
}

/** Returns the mapping of a source without a header: a target for each field. */
export function csvMappingByPosition(targets: readonly Target[], defaults: Defaults): CsvMapping {
  return mappingOf(targets, defaults, (index) => `columns[${index}]`)
}

function mappingOf(targets: readonly Target[], defaults: Defaults, pathOf: (index: number) => string): CsvMapping {
  const compiled = targets.flatMap((target, index) => {
    const found = compileTarget(target, defaults, pathOf(index))
    return found === undefined ? [] : [{ ...found, index }]
  })
  assertDistinct(compiled)
  const values = compiled.filter(({ isToken }) => !isToken)
  const tokens = compiled.filter(({ isToken }) => isToken)
  const width = targets.length
  return {
    columns: compiled.map(({ column, index }) => ({ name: column, field: index + 1 })),
    width,
    hasTokens: tokens.length > 0,
    map(record) {
      const fields: Record<string, unknown> = {}
      for (const target of values) {
        const { column, index, trim, convert } = target
        const given = record.fields[index] ?? ''
        const text = trim ? given.trim() : given
        if (text === '') fields[column] = emptyValue(target, record.quotedEmpty?.includes(index) === true)
        else if (convert === undefined) fields[column] = text
        else {
          const converted = convert(text)
          if ('problem' in converted) return { column, problem: converted.problem }
          fields[column] = converted.value
        }
      }
      if (tokens.length === 0) return { fields }
      const given = tokens.map(({ column, index }) => [column, record.fields[index]] as const)
      return { fields, tokens: Object.fromEntries(given.filter(([, token]) => token !== '')) }
    },
  }
}

function emptyValue({ empty }: Compiled, isQuoted: boolean): string | null {
  return empty === 'text' || (empty === 'unquoted' && isQuoted) ? '' : null
}

function assertDistinct(compiled: readonly Pick<Compiled, 'column' | 'isToken'>[]): void {
  const seen = new Set<string>()
  for (const { column, isToken } of compiled) {
    const key = `${isToken} ${column}`
    if (seen.has(key))
      throw invalid('columns', `gives ${isToken ? 'the token of a column' : 'a column'} two fields of the source`)
    seen.add(key)
  }
}

/** The mapping of an NDJSON source. */
export interface JsonMapping {
  readonly hasTokens: boolean
  map(members: NonNullable<JsonLine['members']>): MappedRecord | Problem
}

/** Returns the mapping of an NDJSON source. A member that it does not name is a column of that name. */
export function jsonMapping(mapping: Readonly<Record<string, Target>>, defaults: Defaults): JsonMapping {
  const targets = new Map(
    Object.entries(mapping).map(([name, target]) => [name, compileTarget(target, defaults, `columns["${name}"]`)]),
  )
  const compiled = [...targets.values()].filter((target) => target !== undefined)
  assertDistinct(compiled)
  const whole: Compiled = { column: '', isToken: false, convert: undefined, ...defaults }
  const hasTokens = compiled.some(({ isToken }) => isToken)
  return {
    hasTokens,
    map(members) {
      // Without a prototype, a member named __proto__ is a member.
      const mapped: MappedJson = { fields: Object.create(null), tokens: Object.create(null) }
      for (const name of Object.keys(members)) {
        const target = targets.has(name) ? targets.get(name) : { ...whole, column: name }
        const problem = target === undefined ? undefined : mapMember(target, members[name], mapped)
        if (problem !== undefined) return problem
      }
      return hasTokens ? mapped : { fields: mapped.fields }
    },
  }
}

/** A record that is mapped. */
interface MappedJson {
  readonly fields: Record<string, unknown>
  readonly tokens: Record<string, unknown>
}

/** Adds a member to a record. */
function mapMember({ column, isToken, trim, empty, convert }: Compiled, given: unknown, mapped: MappedJson): Problem | undefined {
  const value = typeof given === 'string' && trim ? given.trim() : given
  if (isToken) {
    if (value !== null && value !== '') mapped.tokens[column] = value
    return undefined
  }
  if (column in mapped.fields) return { problem: 'Two members are for one column.' }
  const converted = typeof value === 'string' && value !== '' ? convert?.(value) : undefined
  if (converted !== undefined && 'problem' in converted) return { column, problem: converted.problem }
  mapped.fields[column] = value === '' && empty === 'null' ? null : (converted?.value ?? value)
  return undefined
}
