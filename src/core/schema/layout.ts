/** Creates the layout of a vault from its schema: compiled columns, and the physical table of each table. */

import type { PhysicalColumn, PhysicalIndex, PhysicalTable } from '../ports/storage.ts'
import { type CellSpecs, toCellSpecs } from '../sealing/cell-layout.ts'
import { at, present } from '../util/lists.ts'
import type { Period } from '../util/period.ts'
import { type CatalogColumn, type CatalogSchema, type CatalogTable, hiddenOf } from './catalog-schema.ts'
import { type Column, type ColumnIndex, cellSize, layoutColumn, NAME_PART_LENGTH } from './column-layout.ts'
import { type Convert, converterOf } from './converters.ts'
import { type Owner, ownersOf } from './own-keys.ts'
import { periodOf, retentionOf } from './retention.ts'
import type { SchemaRules } from './schema-rules.ts'
import { isSameKey } from './unique-together.ts'

/** What a retention rule counts from, in the rows of its table. */
export interface KeptTime {
  /** The name of the rule: `table` or `table.column`. */
  readonly rule: string
  /** Physical column of the time, in milliseconds since 1970; null in a row of which nothing expires. */
  readonly cell: string
  /** The column whose values expire; undefined if records do. */
  readonly column: Column | undefined
  /** The column that it counts from; undefined for the time of the insert, or of the write of a value. */
  readonly from: Column | undefined
  readonly period: Period
  /** True while a change of the schema stores the times of the rows before: nothing expires by the rule until then. */
  readonly isFilling: boolean
}

/** Columns of which no two records have all values equal: one, or several. A record with a null in one of them can repeat. */
export interface UniqueKey {
  readonly columns: readonly Column[]
  /** The physical column that the unique index has of each: its plain cell, or its digest. */
  readonly cells: readonly string[]
  /** The names of the columns, in order. */
  readonly names: readonly string[]
}

/** A sealed index of a column. The position of one that the schema of this process leaves out is -1: no record has a value of it here. */
export interface IndexedColumn {
  readonly column: Column
  readonly index: ColumnIndex
}

/** One compiled table. */
export interface Table {
  readonly name: string
  /** Number of the table in pointers and in associated data. */
  readonly objectId: number
  readonly columns: readonly Column[]
  readonly byName: ReadonlyMap<string, Column>
  /** Columns by the names of their physical columns. */
  readonly byPhysical: ReadonlyMap<string, Column>
  /** The cells of a body. */
  readonly cells: CellSpecs
  /** Columns that can have a cell in bodies, by rising ordinal. */
  readonly inBody: readonly Column[]
  /** Columns that have tokens. */
  readonly tokenized: readonly Column[]
  /** Columns whose values are stored outside the record and expire. */
  readonly transient: readonly Column[]
  /** All other columns. */
  readonly readable: readonly Column[]
  /** Columns that hold files. */
  readonly files: readonly Column[]
  /** Columns with a digest by which values are found and compared. */
  readonly digested: readonly Column[]
  /** Columns whose digest writers store. */
  readonly digestWritten: readonly Column[]
  /** Columns with plain values. */
  readonly plain: readonly Column[]
  /** Columns whose sealed index writers keep, also those that the schema of this process leaves out. */
  readonly indexed: readonly IndexedColumn[]
  /** The unique columns, each by itself, then those that are unique together. */
  readonly uniqueKeys: readonly UniqueKey[]
  /** How the subject of a record is found whose key seals it; undefined if the records are sealed with the key of the vault. */
  readonly owner: Owner | undefined
  /** The times that retention rules count from. */
  readonly kept: readonly KeptTime[]
  readonly physical: PhysicalTable
  /** The table as writers store it, if it has hidden columns: they come after the others. */
  readonly written: WrittenTable | undefined
}

/** A table with its hidden columns. */
export interface WrittenTable extends Table {
  readonly hidden: readonly { readonly column: Column; readonly convert: Convert }[]
}

/** The compiled tables of a vault. */
export interface Layout {
  readonly tables: ReadonlyMap<string, Table>
  /** Tables of the schema of this process that a change of the stored one has erased: nothing of them is read. */
  readonly erased: ReadonlyMap<string, Table>
  /** The rules that concern more than one column, as they are stored. */
  readonly rules: SchemaRules
  /** All object ids of tables and columns. */
  readonly objectIds: ReadonlySet<number>
  /** The tokenized columns by object id. */
  readonly tokenColumns: ReadonlyMap<number, { readonly table: Table; readonly column: Column }>
  /** All names of tables, columns, column groups and subjects. */
  readonly names: ReadonlySet<string>
}

/** How the names of physical columns of times begin. */
export const KEPT = 'kept_'

/** Physical column of the sealed body in every record table. */
export const BODY = 'body'

/**
 * Returns the layout of a schema with its object ids and ordinals. If the schema is a part of the stored one, `stored` is the layout of
 * all of it: bodies also have cells of columns that the part does not have, and their object ids are in use.
 */
export function layoutSchema({ tables: definitions, rules }: CatalogSchema, stored?: Layout): Layout {
  const tables = new Map<string, Table>()
  const erased = new Map<string, Table>()
  const tokenColumns = new Map<number, { table: Table; column: Column }>()
  const storedTables = new Map([...(stored?.tables.values() ?? [])].map((table) => [table.objectId, table]))
  const owners = ownersOf(rules)
  for (const [name, definition] of Object.entries(definitions)) {
    const context = { rules, owner: owners.get(name), stored: storedTables.get(definition.objectId) }
    const table = layoutTable(name, definition, context)
    if (stored !== undefined && context.stored === undefined) {
      erased.set(name, table)
      continue
    }
    tables.set(name, table)
    for (const column of (table.written ?? table).tokenized)
      if (isResolved(column)) tokenColumns.set(column.objectId, { table, column })
  }
  const all = [...tables.values()].flatMap((table) => [
    table.objectId,
    ...(table.written ?? table).columns.map((column) => column.objectId),
  ])
  const names = [...tables.values(), ...erased.values()].flatMap((table) => [
    table.name,
    ...table.columns.flatMap(({ name, group }) => [name, group ?? name]),
  ])
  return {
    tables,
    erased,
    rules,
    tokenColumns,
    objectIds: stored?.objectIds ?? new Set(all),
    names: new Set([...names, ...Object.keys(rules.subjects ?? {})]),
  }
}

/** True if the tokens of a column are resolved to its value. A hidden one of another type has no value that its column could show. */
function isResolved({ origin, type }: Column): boolean {
  return origin === undefined || origin.type === type
}

/** What a table is compiled with, beside its definition. */
interface LayoutContext {
  readonly rules: SchemaRules
  readonly owner: Owner | undefined
  /** The whole table, if the definition has a part of its columns. */
  readonly stored: Table | undefined
}

function layoutTable(name: string, definition: CatalogTable, { rules, owner, stored }: LayoutContext): Table {
  let [positions, tokens] = [0, 0]
  const born = definition.formerly?.[0] ?? name
  const filling = definition.filling ?? []
  const layout = (column: string, one: CatalogColumn, origin?: Column): Column => {
    const tokenPosition = one.definition.token === undefined ? -1 : tokens++
    return layoutColumn(born, column, { ...one, filling, position: positions++, tokenPosition, origin })
  }
  // The indexes of a column that was erased are gone with it.
  const isErased = ({ objectId }: CatalogColumn) => stored?.columns.every((column) => column.objectId !== objectId) === true
  const columns = Object.entries(definition.columns).map(([column, { indexes, ...one }]) =>
    layout(column, indexes === undefined || isErased(one) ? one : { ...one, indexes }),
  )
  const hidden = Object.values(definition.columns).flatMap((one, index) => {
    const origin = at(columns, index)
    return hiddenOf(one).map(({ convert, ...stored }) => ({
      // The tokens that a caller supplies are those of the column of the schema, by its name.
      column: layout(`${origin.name} (as changed)`, { formerly: [one.formerly?.[0] ?? origin.name], ...stored }, origin),
      convert: converterOf(one.definition, stored.definition, convert),
    }))
  })
  const all = [...columns, ...hidden.map(({ column }) => column)]
  const gone = (definition.gone ?? []).map(({ ordinal, ...column }) => ({ ordinal, column, size: undefined }))
  const specs = all.map((column) => ({ ordinal: column.ordinal, column: column.hash, size: cellSize(column) }))
  const goneOrdinals = gone.map(({ ordinal }) => ordinal)
  const byName = new Map(columns.map((column) => [column.name, column]))
  const kept = layoutKept(name, definition, { byName, rules })
  const uniqueKeys = uniqueKeysOf({ columns, byName }, rules.uniqueTogether?.[name] ?? [])
  const physicalName = `records_${definition.objectId}_${born.slice(0, NAME_PART_LENGTH)}`
  const physical = layoutPhysical(physicalName, { columns: all, uniqueKeys })
  const indexed = indexedOf(all, stored)
  const integers = [...kept, ...indexed.map(({ index }) => index)].map(({ cell }) => cell)
  const shared = {
    owner,
    kept,
    uniqueKeys,
    name,
    objectId: definition.objectId,
    indexed,
    cells: stored?.cells ?? toCellSpecs([...specs, ...gone], definition.grownAt, goneOrdinals),
    physical: {
      ...physical,
      columns: [...physical.columns, ...integers.map((cell) => ({ name: cell, type: 'integer' as const }))],
      indexes: [
        ...physical.indexes,
        ...kept.flatMap(({ cell, isFilling }) => (isFilling ? [] : [{ columns: [cell], unique: false }])),
      ],
    },
    written: undefined,
  }
  const table = tableOf(shared, columns)
  return hidden.length === 0 ? table : { ...table, written: { ...tableOf(shared, all), hidden } }
}

/** Returns a table with these columns. */
function tableOf(
  shared: Pick<Table, 'name' | 'objectId' | 'owner' | 'cells' | 'physical' | 'kept' | 'indexed' | 'uniqueKeys' | 'written'>,
  columns: readonly Column[],
): Table {
  const byPhysical = new Map<string, Column>()
  for (const column of columns) {
    // What is said of a hidden column is said of its own.
    const named = column.origin ?? column
    if (column.plain !== undefined) byPhysical.set(column.plain, named)
    if (column.writtenDigest !== undefined) byPhysical.set(column.writtenDigest, named)
  }
  return {
    ...shared,
    columns,
    byName: new Map(columns.map((column) => [column.name, column])),
    byPhysical,
    inBody: columns
      .filter((column) => column.plain === undefined || column.token !== undefined)
      .sort((left, right) => left.ordinal - right.ordinal),
    tokenized: columns.filter((column) => column.token !== undefined),
    transient: columns.filter((column) => column.token?.expires === true),
    readable: columns.filter((column) => column.token?.expires !== true),
    files: columns.filter((column) => column.file !== undefined),
    digested: columns.filter((column) => column.digest !== undefined),
    digestWritten: columns.filter((column) => column.writtenDigest !== undefined),
    plain: columns.filter((column) => column.plain !== undefined),
  }
}

/** Returns the columns with a sealed index: these, and those of the whole table that are not among them. */
function indexedOf(columns: readonly Column[], stored: Table | undefined): IndexedColumn[] {
  const own = columns.flatMap((column): IndexedColumn[] => column.writtenIndexes.map((index) => ({ column, index })))
  const known = new Set(own.map(({ index }) => index.objectId))
  const others = (stored?.indexed ?? []).filter(({ index }) => !known.has(index.objectId))
  return [...own, ...others.map(({ column, index }) => ({ column: { ...column, position: -1 }, index }))]
}

/** Returns the times of the rules of a table. A rule that names what the table does not have is of another process. */
function layoutKept(
  table: string,
  { objectId, filling = [] }: CatalogTable,
  { byName, rules }: { readonly byName: ReadonlyMap<string, Column>; readonly rules: SchemaRules },
): KeptTime[] {
  return retentionOf(rules.retention, table).flatMap((definition): KeptTime[] => {
    const { rule, column: columnName, from: fromName } = definition
    const [column, from] = [columnName, fromName].map((one) => (one === undefined ? undefined : byName.get(one)))
    if ((column === undefined) !== (columnName === undefined) || (from === undefined) !== (fromName === undefined)) return []
    // Another column to count from has another cell: none is read that counts from what was before.
    const cell = `${KEPT}${column?.objectId ?? objectId}_${from?.objectId ?? 0}`
    return [{ rule, cell, column, from, period: periodOf(definition), isFilling: filling.includes(cell) }]
  })
}

/** Returns the unique keys of a table: its unique columns, then what is unique together. A key with a column, or a digest, that this layout lacks is the index's only. */
function uniqueKeysOf(
  { columns, byName }: Pick<Table, 'columns' | 'byName'>,
  together: readonly (readonly string[])[],
): readonly UniqueKey[] {
  const keys = together.map((names) => names.map((name) => byName.get(name)))
  const lists = [...columns.filter(({ unique }) => unique).map((column) => [column]), ...keys]
  return lists.flatMap((list): UniqueKey[] => {
    const members = present(list)
    const cells = members.flatMap(({ plain, digest }) => plain ?? digest ?? [])
    return cells.length < list.length ? [] : [{ columns: members, cells, names: members.map(({ name }) => name) }]
  })
}

function layoutPhysical(name: string, { columns, uniqueKeys }: Pick<Table, 'columns' | 'uniqueKeys'>): PhysicalTable {
  const physical: PhysicalColumn[] = [{ name: BODY, type: 'bytes' }]
  const indexes: PhysicalIndex[] = []
  for (const column of columns) {
    if (column.writtenDigest !== undefined)
      physical.push({ name: column.writtenDigest, type: 'bytes', byteLength: column.digestLength })
    if (column.plain !== undefined) {
      const { physical: type, hasShortCells } = column.type
      physical.push({ name: column.plain, type, ...(hasShortCells === true ? { isShort: true } : {}) })
    }
    if (column.digest !== undefined)
      indexes.push({ columns: [column.digest], unique: column.unique && column.plain === undefined })
    if (column.plain !== undefined && column.lookup === column.plain)
      indexes.push({ columns: [column.plain], unique: column.unique })
  }
  for (const { cells } of uniqueKeys) if (cells.length > 1) indexes.push({ columns: cells, unique: true })
  return { name, columns: physical, indexes, isOrdered: true }
}

/** Returns the unique key of these columns, in any order; undefined if they are not unique together. */
export function uniqueKeyNamed({ uniqueKeys }: Pick<Table, 'uniqueKeys'>, names: readonly string[]): UniqueKey | undefined {
  return uniqueKeys.find((key) => isSameKey(key.names, names))
}
