/** Describes a schema as plain data, for hosts that build forms or API descriptions from it. */
import type { RedactionLevel } from '../redaction.ts'
import type { TokenKindName } from '../tokens/token-kind.ts'
import type { ValueTypes } from '../values/column-type.ts'
import type { ColumnDefinition, Requirement, SchemaDefinition } from './column.ts'
import type { Column } from './column-layout.ts'
import type { Layout } from './layout.ts'

/** One column: what it accepts and how it is shown. An absent member does not apply to the column. */
export interface ColumnDescription {
  readonly type: keyof ValueTypes
  /** True if a record must have a value other than null. */
  readonly required: boolean
  /** True if no two records can have equal values: an upsert can use the column. */
  readonly unique: boolean
  /** The lists of columns, with this one, of which no two records can have all values equal. Only of a column in one. */
  readonly uniqueTogether?: readonly (readonly string[])[]
  readonly encrypted: boolean
  /** True if a read can look up records by values of the column. */
  readonly lookup: boolean
  /** Only of a column with a sealed index of its values in order. */
  readonly index?: 'sealed'
  /** Only of a column with a sealed index of what its texts contain. */
  readonly contains?: true
  /** The level for `DEFAULT`. */
  readonly redaction: RedactionLevel
  /** True if MASKED differs from REDACTED. */
  readonly masked: boolean
  /** What a caller must state to see more than REDACTED. Only of a column that requires something. */
  readonly requires?: readonly Requirement[]
  /** Only of a column with tokens. */
  readonly tokenKind?: TokenKindName
  readonly columnGroup?: string
  /** Digits behind the point of a DECIMAL column. */
  readonly scale?: number
  /** RE2 pattern that the whole text must match. */
  readonly pattern?: string
  /** In code points. */
  readonly maxLength?: number
  /** The only values allowed. */
  readonly oneOf?: readonly (string | number)[]
  /** MIME types of a FILE column, or patterns such as `image/*`. */
  readonly allowedTypes?: readonly string[]
  /** Maximum length of a file of a FILE column, in bytes. */
  readonly maxBytes?: number
}

/** The columns of each table, by name, in the order of the schema. */
export type SchemaDescription = Readonly<Record<string, Readonly<Record<string, ColumnDescription>>>>

/** Returns the description of the tables of a layout, frozen. The definitions have the rules that the layout has compiled. */
export function describeSchema({ tables }: Pick<Layout, 'tables'>, definitions: SchemaDefinition): SchemaDescription {
  const described = [...tables.values()].map(({ name, columns, uniqueKeys }) => {
    const defined = definitions[name]
    const own = columns.map((column) => {
      const together = uniqueKeys.filter((key) => key.columns.length > 1 && key.columns.includes(column))
      const members = describeColumn(column, defined?.[column.name])
      const lists =
        together.length === 0 ? {} : { uniqueTogether: Object.freeze(together.map(({ names }) => Object.freeze([...names]))) }
      return [column.name, Object.freeze({ ...members, ...lists })] as const
    })
    return [name, Object.freeze(Object.fromEntries(own))] as const
  })
  return Object.freeze(Object.fromEntries(described))
}

function describeColumn(column: Column, definition: ColumnDefinition | undefined): ColumnDescription {
  const { type, required, unique, plain, lookup, index, contains, level, mask, token, group, file } = column
  const members = {
    type: type.name,
    required,
    unique,
    encrypted: plain === undefined,
    lookup: lookup !== undefined,
    ...(index !== undefined && { index: 'sealed' as const }),
    ...(contains !== undefined && { contains: true as const }),
    redaction: level,
    masked: mask !== undefined,
    ...presentOnly({ requires: definition?.requires, tokenKind: token?.name, columnGroup: group }),
    ...(definition?.type === 'DECIMAL' ? { scale: definition.scale } : {}),
    ...(definition !== undefined && 'pattern' in definition ? presentOnly({ pattern: definition.pattern }) : {}),
    ...(definition !== undefined && 'maxLength' in definition ? presentOnly({ maxLength: definition.maxLength }) : {}),
    ...(definition !== undefined && 'oneOf' in definition
      ? presentOnly({ oneOf: definition.oneOf && Object.freeze(definition.oneOf) })
      : {}),
    ...(file === undefined
      ? {}
      : presentOnly({ allowedTypes: file.allowedTypes && Object.freeze(file.allowedTypes), maxBytes: file.maxBytes })),
  }
  return members
}

/** The same members without those that are undefined. */
export function presentOnly<T extends object>(members: T): { readonly [Name in keyof T]?: Exclude<T[Name], undefined> } {
  // Each member keeps its type; only undefined ones are removed.
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    readonly [Name in keyof T]?: Exclude<T[Name], undefined>
  }
}
