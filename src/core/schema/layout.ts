/** From a schema and its ordinals to live tables: what each column does, and the physical table behind it. */
import { DEFAULT_TTL_MINUTES } from '../limits.ts'
import type { PhysicalColumn, PhysicalIndex, PhysicalTable } from '../ports/storage.ts'
import type { Level } from '../redaction/levels.ts'
import { compileMask } from '../redaction/masks.ts'
import type { TokenFormat } from '../tokens/token-format.ts'
import { compileFormat } from '../tokens/token-formats.ts'
import type { TokenKind } from '../tokens/token-kind.ts'
import { tokenKinds } from '../tokens/token-kinds.ts'
import type { AnyColumnType } from '../values/column-types.ts'
import { columnTypes } from '../values/column-types.ts'
import type { Normaliser } from '../values/normalisers.ts'
import type { ValueRule } from '../values/value-rules.ts'
import { compileRules } from '../values/value-rules.ts'
import type { Allotment, AllottedColumn, AllottedTable } from './allotment.ts'
import { tokenOf } from './column.ts'

/** One column at work. */
export interface Column {
  readonly name: string
  /** Place in `Table.columns`, and so in every list of a record's values. */
  readonly position: number
  /** Place in sealed bodies. */
  readonly ordinal: number
  /** Address in pointers. */
  readonly space: number
  readonly type: AnyColumnType
  readonly required: boolean
  readonly unique: boolean
  /** The level that DEFAULT means. */
  readonly level: Level
  readonly mask: ((shown: string) => string) | undefined
  readonly token: TokenKind | undefined
  /** The form of its tokens, where their kind has one. */
  readonly format: TokenFormat | undefined
  /** How long a value lives, in milliseconds, where its kind expires. */
  readonly lifetime: number
  /** True when a changed value keeps its token. */
  readonly isStable: boolean
  /** Place in `Table.tokenized`; -1 where the column has no tokens. */
  readonly tokenPosition: number
  readonly normalise: readonly Normaliser[]
  readonly check: ValueRule | undefined
  /** The column group it is in. */
  readonly group: string | undefined
  /** Names the digest key; equal for columns whose digests may be compared. */
  readonly scope: string
  /** Physical column of the plain value; undefined where the value is sealed. */
  readonly plain: string | undefined
  /** Physical column of the digest; undefined where none is kept. */
  readonly digest: string | undefined
  /** Physical column that equality can be looked up by; undefined where there is none. */
  readonly lookup: string | undefined
}

/** One column as one caller sees it, decided before anything is read. */
export interface ColumnView {
  readonly column: Column
  readonly level: Level
}

/** One table at work. */
export interface Table {
  readonly name: string
  readonly space: number
  readonly columns: readonly Column[]
  readonly byName: ReadonlyMap<string, Column>
  readonly byPhysical: ReadonlyMap<string, Column>
  /** One more than the highest ordinal: the size of a list indexed by ordinal. */
  readonly ordinals: number
  readonly tokenized: readonly Column[]
  /** Columns whose values live apart from the record. */
  readonly transient: readonly Column[]
  /** The others: a record is read with their values. */
  readonly readable: readonly Column[]
  readonly digested: readonly Column[]
  readonly plain: readonly Column[]
  readonly physical: PhysicalTable
}

/** The live tables of a vault, by name and by the spaces that pointers name. */
export interface Layout {
  readonly tables: ReadonlyMap<string, Table>
  /** Every space in use. */
  readonly spaces: ReadonlySet<number>
  /** Token spaces: which column a token belongs to. */
  readonly tokenSpaces: ReadonlyMap<number, { readonly table: Table; readonly column: Column }>
  /** Every name the schema has given: of tables, columns and column groups. */
  readonly names: ReadonlySet<string>
}

/** Physical column of every record table that holds the sealed body. */
export const BODY = 'body'

/** Longest part of a name that a physical name repeats: Postgres cuts names at 63 bytes. */
const NAME_PART = 48

/** Builds the live tables. */
export function layoutSchema(allotment: Allotment): Layout {
  const tables = new Map<string, Table>()
  const tokenSpaces = new Map<number, { table: Table; column: Column }>()
  for (const [name, allotted] of Object.entries(allotment.tables)) {
    const table = layoutTable(name, allotted)
    tables.set(name, table)
    for (const column of table.tokenized) tokenSpaces.set(column.space, { table, column })
  }
  const all = [...tables.values()].flatMap((table) => [table.space, ...table.columns.map((column) => column.space)])
  const names = [...tables.values()].flatMap((table) => [
    table.name,
    ...table.columns.flatMap(({ name, group }) => [name, group ?? name]),
  ])
  return { tables, tokenSpaces, spaces: new Set(all), names: new Set(names) }
}

function layoutTable(name: string, allotted: AllottedTable): Table {
  let tokens = 0
  const columns = Object.entries(allotted.columns).map(([column, one], position) =>
    layoutColumn(column, one, { position, tokenPosition: one.definition.token === undefined ? -1 : tokens++ }),
  )
  const digested = columns.filter((column) => column.digest !== undefined)
  const plain = columns.filter((column) => column.plain !== undefined)
  const physical = layoutPhysical(`records_${allotted.space}_${name.slice(0, NAME_PART)}`, columns, allotted)
  const byPhysical = new Map<string, Column>()
  for (const column of columns) {
    if (column.plain !== undefined) byPhysical.set(column.plain, column)
    if (column.digest !== undefined) byPhysical.set(column.digest, column)
  }
  return {
    name,
    space: allotted.space,
    columns,
    byName: new Map(columns.map((column) => [column.name, column])),
    byPhysical,
    ordinals: 1 + Math.max(...columns.map((column) => column.ordinal)),
    tokenized: columns.filter((column) => column.token !== undefined),
    transient: columns.filter((column) => column.token?.expires === true),
    readable: columns.filter((column) => column.token?.expires !== true),
    digested,
    plain,
    physical,
  }
}

function layoutColumn(
  name: string,
  { space, ordinal, definition }: AllottedColumn,
  places: { readonly position: number; readonly tokenPosition: number },
): Column {
  const sealed = definition.encrypted !== false
  const unique = definition.unique === true
  const part = `${space}_${name.slice(0, NAME_PART)}`
  const plain = sealed ? undefined : `plain_${part}`
  const { kind, format, ttlMinutes, stable } = tokenOf(definition)
  const token = kind === undefined ? undefined : tokenKinds[kind]
  const isDigested = token?.isDeterministic === true || (sealed && (unique || definition.searchable === true))
  const digest = isDigested ? `digest_${part}` : undefined
  return {
    name,
    ...places,
    ordinal,
    space,
    type: columnTypes[definition.type],
    required: definition.required === true,
    unique,
    level: definition.redaction ?? 'REDACTED',
    mask: definition.mask === undefined ? undefined : compileMask(definition.mask),
    token,
    format: format === undefined ? undefined : compileFormat(format),
    lifetime: (ttlMinutes ?? DEFAULT_TTL_MINUTES) * 60_000,
    isStable: stable === true,
    normalise: definition.type === 'STRING' ? (definition.normalise ?? []) : [],
    check: compileRules(definition),
    group: definition.columnGroup,
    scope: definition.columnGroup === undefined ? `column/${space}` : `group/${definition.columnGroup}`,
    plain,
    digest,
    lookup: sealed ? digest : unique || definition.index === true ? plain : digest,
  }
}

function layoutPhysical(name: string, columns: readonly Column[], allotted: AllottedTable): PhysicalTable {
  const physical: PhysicalColumn[] = [{ name: BODY, type: 'bytes' }]
  const indexes: PhysicalIndex[] = []
  for (const column of columns) {
    if (column.digest !== undefined) physical.push({ name: column.digest, type: 'bytes' })
    if (column.plain !== undefined) physical.push({ name: column.plain, type: column.type.physical })
    if (column.digest !== undefined)
      indexes.push({ columns: [column.digest], unique: column.unique && column.plain === undefined })
    const isIndexed = column.unique || allotted.columns[column.name]?.definition.index === true
    if (column.plain !== undefined && isIndexed) indexes.push({ columns: [column.plain], unique: column.unique })
  }
  return { name, columns: physical, indexes }
}
