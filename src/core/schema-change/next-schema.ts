/** The schemas on the way from the stored schema to another one: with its marks while the change runs, and at its end. Looks at no record. */
import { say } from '../errors.ts'
import type { PhysicalIndex } from '../ports/storage.ts'
import { assignIds, type CatalogColumn, type CatalogSchema, type CatalogTable, storedName } from '../schema/catalog-schema.ts'
import { type ColumnDefinition, sealedKinds } from '../schema/column.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Schema } from '../schema/define-schema.ts'
import { type IndexedColumn, KEPT, type KeptTime, type Layout, layoutSchema, type Table } from '../schema/layout.ts'
import { subjectsWithKeys } from '../schema/own-keys.ts'
import type { SchemaRules } from '../schema/schema-rules.ts'
import { present } from '../util/lists.ts'
import { erasedThough, placeOf, renameStored, type SchemaMoves, type SchemaPlace, type SchemaRefusal } from './schema-moves.ts'
import { withIndexOf, withoutIndex } from './sealed-indexes.ts'
import {
  asStored,
  erased,
  FIXED_OPTIONS,
  findSuccessions,
  finished,
  isSame,
  MAX_EARLIER,
  type Succession,
  succeeded,
  unneededBy,
  withSuccessors,
} from './successions.ts'

/** What becomes of one table that is stored already. */
export interface TableChange {
  /** As it is stored, under its new names. */
  readonly was: Table
  /** As it will be. */
  readonly table: Table
  /** Columns that get digests. */
  readonly fills: readonly Column[]
  /** Sealed indexes that columns get, also new ones: an index has the rows without a value too. */
  readonly indexes: readonly IndexedColumn[]
  /** Rules of retention that get the times of existing rows. */
  readonly keeps: readonly KeptTime[]
  /** Existing columns that become required. */
  readonly requires: readonly Column[]
  /** New columns that are required: no record may exist. */
  readonly requiresNew: readonly Column[]
  readonly builds: readonly PhysicalIndex[]
  readonly drops: readonly PhysicalIndex[]
  /** Physical columns whose cells no writer keeps from now on. */
  readonly ends: readonly string[]
  /** Physical columns whose cells are left over from an earlier change. */
  readonly leftover: readonly string[]
  /** Indexes that are left over from an earlier change. */
  readonly unneeded: readonly PhysicalIndex[]
  /** True if its records are to be sealed with keys of their subjects. */
  readonly seals: boolean
}

/** A change that no record has to do with. */
export interface SimpleChange extends Partial<SchemaPlace> {
  readonly what: string
}

/** A change that is refused whatever the records are. */
export interface Refusal extends SchemaPlace {
  /** Why, as a sentence. */
  readonly reason: string
}

/** The way to another schema. */
export interface NextSchema {
  /** The stored schema under its new names. */
  readonly renamed: CatalogSchema
  /** While the change runs: writers do both, and readers go by what was. */
  readonly begun: CatalogSchema
  /** At the end. Cells that ended are still to be erased. */
  readonly ended: CatalogSchema
  /** The moves by the names of `renamed`, without what is erased already. */
  readonly moves: SchemaMoves
  /** Columns that are stored anew. */
  readonly successions: readonly Succession[]
  readonly simple: readonly SimpleChange[]
  readonly tables: readonly TableChange[]
  readonly refusals: readonly SchemaRefusal[]
  /** What the schema leaves out, and says nothing of. */
  readonly leftOut: readonly SchemaPlace[]
}

/** The way that is looked for. */
export interface NextOptions {
  readonly moves: SchemaMoves
  /**
   * True for the opening of a vault: a definition that a column had before is that of an older process, which follows the stored one, and marks of a change
   * that has not ended stay.
   */
  readonly isOpening: boolean
}

/** Returns the way from the stored schema to another one. Throws `failed_precondition` for moves that cannot be made, and `limit_exceeded`. */
export function nextSchema(stored: CatalogSchema, next: Schema, { moves: given, isOpening }: NextOptions): NextSchema {
  const { schema: before, renamed, moves } = renameStored(stored, given, next.tables)
  const wanted = isOpening ? followingStored(before, next) : next
  const assigned = withFates(assignIds(wanted.tables, before, wanted.rules), moves)
  const { successions, refusals } = findSuccessions(before, assigned, moves)
  // What is stored anew is as it was until then.
  const target = asStored(assigned, before, [...successions, ...refusals])
  const was = layoutSchema(before)
  const is = layoutSchema(target)
  const tables = changedTables({ was, is }, { before, target, isOpening })
  const known = { before, target, tables, isOpening }
  const begun = { ...target, rules: begunRules(known), tables: mapTables(target, (name) => begunTable(known, name)) }
  const ended = { ...target, ...earlierRules(before, target), tables: mapTables(target, (name) => endedTable(known, name)) }
  const options = { keepsOthers: isOpening }
  return {
    renamed: before,
    begun: withSuccessors(begun, successions, options),
    ended: erased(finished(succeeded(withSuccessors(ended, successions, options), successions), moves), moves),
    moves,
    successions,
    simple: [
      ...renamed.map(({ from, ...place }) => ({ ...place, what: `renamed from ${from}` })),
      ...simpleChanges(before, target, new Set(refusals.map(({ table, column }) => `${table}.${column}`))),
    ],
    tables,
    refusals: [...refusals, ...erasedThough(target, wanted, moves), ...keysTurnedOff(before.rules, target.rules)],
    leftOut: leftOut(before, wanted, moves),
  }
}

/** Returns the schema, with the stored definition of each column that has had this one before. */
function followingStored(before: CatalogSchema, { tables, rules }: Schema): Schema {
  const followed = Object.entries(tables).map(([name, columns]) => {
    const table = before.tables[storedName(before.tables, name, tables) ?? '']
    const own = Object.entries(columns).map(([column, definition]) => {
      const stored = table?.columns[storedName(table.columns, column, columns) ?? '']
      const isOlder = stored?.earlier?.some((one) => isSame(one, definition)) === true
      return [column, isOlder ? stored.definition : definition] as const
    })
    return [name, Object.fromEntries(own)] as const
  })
  const hasOlder = before.earlierRules?.some((one) => isSame(one, rules)) === true
  return { tables: Object.fromEntries(followed), rules: hasOlder ? before.rules : rules }
}

function withFates(schema: CatalogSchema, { drop = {} }: SchemaMoves): CatalogSchema {
  const tables = { ...schema.tables }
  for (const [path, fate] of Object.entries(drop)) {
    if (fate !== 'keep') continue
    const { table: name, column: columnName } = placeOf(path)
    const table = tables[name]
    const column = columnName === undefined ? undefined : table?.columns[columnName]
    if (table === undefined) continue
    if (columnName === undefined) tables[name] = { ...table, leftOut: true }
    else if (column !== undefined) {
      const { required: _, ...definition } = column.definition
      // Without `required` it is a definition of the same type.
      const kept = { ...column, leftOut: true, definition: definition as ColumnDefinition } as const
      tables[name] = { ...table, columns: { ...table.columns, [columnName]: kept } }
    }
  }
  return { ...schema, tables }
}

/** The two schemas, and what differs. */
interface Known {
  readonly before: CatalogSchema
  readonly target: CatalogSchema
  readonly tables: readonly TableChange[]
  readonly isOpening: boolean
}

function mapTables(schema: CatalogSchema, work: (name: string) => CatalogTable): Readonly<Record<string, CatalogTable>> {
  return Object.fromEntries(Object.keys(schema.tables).map((name) => [name, work(name)]))
}

function changedTables(
  { was: before, is }: { readonly was: Layout; readonly is: Layout },
  { before: stored, target, isOpening }: Omit<Known, 'tables'>,
): TableChange[] {
  return [...is.tables.values()].flatMap((table): TableChange[] => {
    const was = before.tables.get(table.name)
    const marks = stored.tables[table.name]
    if (was === undefined || marks === undefined) return []
    const isAsked = (columns: CatalogTable['columns'] | undefined, { column: { name }, index: { kind } }: IndexedColumn) =>
      sealedKinds(columns?.[name]?.definition ?? {}).includes(kind)
    const indexed = table.columns
      .flatMap((column) => column.writtenIndexes.map((index) => ({ column, index })))
      .filter((one) => isAsked(target.tables[table.name]?.columns, one))
    const had = new Set(was.columns.flatMap(({ digest, index, contains }) => present([digest, index?.cell, contains?.cell])))
    const has = new Set([...present(table.columns.map(({ digest }) => digest)), ...indexed.map(({ index }) => index.cell)])
    const times = new Set(was.kept.map(({ cell }) => cell))
    const change: TableChange = {
      was,
      table,
      fills: table.columns.filter(
        ({ name, digest }) => digest !== undefined && !had.has(digest) && marks.columns[name] !== undefined,
      ),
      indexes: indexed.filter((one) => {
        const { cell } = one.index
        const isFilling = isAsked(marks.columns, one) && marks.filling?.includes(cell) === true
        return !had.has(cell) && !(isFilling && isOpening)
      }),
      keeps: table.kept.filter(({ cell, isFilling }) => !times.has(cell) || (isFilling && !isOpening)),
      requires: table.columns.filter(({ name }) => {
        const [stored, is] = [marks.columns[name], target.tables[table.name]?.columns[name]]
        if (stored === undefined || is?.definition.required !== true) return false
        return stored.definition.required !== true || (stored.requiring === true && !isOpening)
      }),
      requiresNew: table.columns.filter(({ name, required }) => required && marks.columns[name] === undefined),
      builds: unneededBy(was.physical.indexes, table.physical.indexes),
      drops: unneededBy([...table.physical.indexes, ...(marks.unneeded ?? [])], was.physical.indexes),
      ends: [...new Set([...had, ...(isOpening ? [] : (marks.filling ?? []))])].filter(
        (cell) => !has.has(cell) && !cell.startsWith(KEPT),
      ),
      leftover: isOpening ? [] : (marks.leftover ?? []).filter((cell) => !has.has(cell)),
      unneeded: isOpening ? [] : unneededBy(table.physical.indexes, marks.unneeded),
      seals: table.owner !== undefined && (was.owner === undefined || (marks.keying === true && !isOpening)),
    }
    const { fills, indexes, keeps, requires, requiresNew, builds, drops, ends, leftover, unneeded, seals } = change
    // A new table has been left out: nothing of it differs from what is stored.
    const isChanged =
      seals ||
      [fills, indexes, keeps, requires, requiresNew, builds, drops, ends, leftover, unneeded].some(({ length }) => length > 0)
    return isChanged && target.tables[table.name] !== undefined ? [change] : []
  })
}

/** Returns the table while the change runs. A column whose records must be filled, checked or indexed first is as before until then. */
function begunTable({ before, target, tables }: Known, name: string): CatalogTable {
  const table = withoutMarks(target, name)
  const was = before.tables[name]
  const change = tables.find((one) => one.table.name === name)
  const waits = change === undefined ? new Set<string>() : waitingColumns(change)
  const requires = new Set(change?.requires.map(({ name: column }) => column))
  const columns = Object.entries(table.columns).map(([column, one]) => {
    const stored = was?.columns[column]
    if (stored === undefined || !waits.has(column)) return [column, withEarlier(stored, one)] as const
    return [column, { ...withIndexOf(one, stored), ...(requires.has(column) ? { requiring: true as const } : {}) }] as const
  })
  const filling = [...(was?.filling ?? []), ...filledCells(change), ...(change?.ends ?? [])]
  const leftover = (was?.leftover ?? []).filter((cell) => !filling.includes(cell))
  const keying = was?.keying === true || change?.seals === true
  // Until the end they are of no schema: whatever ends the change, the next one drops those that it does not have. The end of the change compares with this
  // schema, which has none of the dropped ones any more.
  const builds = change === undefined ? [] : lateBuilds(change)
  const unneeded = [...unneededBy(builds, was?.unneeded), ...(change?.drops ?? []), ...builds]
  return { ...table, columns: Object.fromEntries(columns), ...marksOf({ filling, leftover, unneeded, keying }) }
}

/** Returns the indexes that are built when rows are filled and checked. Those of new columns are there before. */
export function lateBuilds({ was, table, builds }: Pick<TableChange, 'was' | 'table' | 'builds'>): PhysicalIndex[] {
  return builds.filter(
    ({ columns: [cell = '', ...more] }) => more.length > 0 || was.byName.has(table.byPhysical.get(cell)?.name ?? ''),
  )
}

/** Returns the names of the columns that stay as they were until rows are filled, checked or indexed. */
function waitingColumns({ was, table, fills, indexes, requires, builds }: TableChange): ReadonlySet<string> {
  const indexed = table.columns.filter(({ name, digest = '', plain = '' }) =>
    builds.some(({ columns }) => was.byName.has(name) && (columns.includes(digest) || columns.includes(plain))),
  )
  return new Set([...fills, ...indexes.map(({ column }) => column), ...requires, ...indexed].map(({ name }) => name))
}

function filledCells(change: TableChange | undefined): string[] {
  return change === undefined
    ? []
    : [
        ...change.fills.flatMap(({ digest }) => digest ?? []),
        ...change.indexes.map(({ index }) => index.cell),
        ...change.keeps.map(({ cell }) => cell),
      ]
}

/** Returns the table at the end of the change. */
function endedTable({ before, target, tables, isOpening }: Known, name: string): CatalogTable {
  const table = withoutMarks(target, name)
  const was = before.tables[name]
  const change = tables.find((one) => one.table.name === name)
  const checked = new Set(change?.requires.map(({ name: column }) => column))
  const ends = change?.ends ?? []
  const columns = Object.entries(table.columns).map(([column, one]) => {
    const { requiring, ...ended } = withoutIndex(withEarlier(was?.columns[column], one), new Set(ends))
    return [column, requiring === undefined || !isOpening || checked.has(column) ? ended : { ...ended, requiring }] as const
  })
  const done = new Set([...filledCells(change), ...ends])
  const filling = (was?.filling ?? []).filter((cell) => !done.has(cell))
  const leftover = [...(was?.leftover ?? []).filter((cell) => !done.has(cell)), ...ends]
  const keying = was?.keying === true && change?.seals !== true
  const known =
    change === undefined ? (was?.unneeded ?? []) : [...unneededBy(change.table.physical.indexes, was?.unneeded), ...change.drops]
  return { ...table, columns: Object.fromEntries(columns), ...marksOf({ filling, leftover, unneeded: known, keying }) }
}

/** Returns a table of the target without marks. */
function withoutMarks(target: CatalogSchema, name: string): CatalogTable {
  const { filling: _, leftover: __, keying: ___, unneeded: ____, ...table } = target.tables[name] ?? { objectId: 0, columns: {} }
  return table
}

/** Returns the marks that a table has. */
export function marksOf({
  filling,
  leftover,
  unneeded,
  keying,
}: Required<Pick<CatalogTable, 'filling' | 'leftover' | 'unneeded'>> & { readonly keying: boolean }) {
  return {
    ...(keying && { keying }),
    ...(filling.length > 0 && { filling: [...new Set(filling)] }),
    ...(leftover.length > 0 && { leftover: [...new Set(leftover)] }),
    ...(unneeded.length > 0 && { unneeded }),
  }
}

/** Returns a column that remembers its stored definition, if that is another one. */
function withEarlier(stored: CatalogColumn | undefined, one: CatalogColumn): CatalogColumn {
  const others = (stored?.earlier ?? []).filter((definition) => !isSame(definition, one.definition))
  const isOther = stored !== undefined && !isSame(stored.definition, one.definition)
  const earlier = (isOther ? [stored.definition, ...others] : others).slice(0, MAX_EARLIER)
  const { earlier: _, ...rest } = one
  return earlier.length === 0 ? rest : { ...rest, earlier }
}

function earlierRules({ rules, earlierRules = [] }: CatalogSchema, { rules: after }: CatalogSchema) {
  const others = earlierRules.filter((one) => !isSame(one, after))
  const earlier = (isSame(rules, after) ? others : [rules, ...others]).slice(0, MAX_EARLIER)
  return earlier.length === 0 ? {} : { earlierRules: earlier }
}

/** Returns the rules while the change runs: what is unique together only when its indexes are built. */
function begunRules({ before, target, tables }: Known): SchemaRules {
  if (!tables.some(({ builds }) => builds.some(({ columns }) => columns.length > 1))) return target.rules
  const { uniqueTogether: _, ...rules } = target.rules
  const { uniqueTogether } = before.rules
  return uniqueTogether === undefined ? rules : { ...rules, uniqueTogether }
}

/** Returns why subjects cannot lose their keys. */
function keysTurnedOff(before: SchemaRules, target: SchemaRules): NextSchema['refusals'] {
  const after = subjectsWithKeys(target)
  return [...subjectsWithKeys(before)].flatMap(([name, { table }]) =>
    after.get(name)?.table === table
      ? []
      : [
          {
            table,
            reason: say`ownKeys of subject ${name} cannot be turned off, because its records are sealed with keys of their own.`,
          },
        ],
  )
}

/** Options of which other steps speak. */
const OF_STEPS: readonly string[] = [...FIXED_OPTIONS.filter((option) => option !== 'token'), 'searchable', 'unique', 'index']

/** Returns what is new, and the options that change without a look at a record. */
function simpleChanges(before: CatalogSchema, target: CatalogSchema, refused: ReadonlySet<string>): SimpleChange[] {
  const added = Object.entries(target.tables).flatMap(([table, { columns }]): SimpleChange[] => {
    const was = before.tables[table]
    if (was === undefined) return [{ table, what: 'added' }]
    return Object.keys(columns).flatMap((column) => (was.columns[column] === undefined ? [{ table, column, what: 'added' }] : []))
  })
  const changed = eachColumn(before, target).flatMap(({ table, column, was, is }): SimpleChange[] => {
    const options = [...new Set([...Object.keys(was.definition), ...Object.keys(is.definition)])].filter((option) => {
      const [one, other]: unknown[] = [Reflect.get(was.definition, option), Reflect.get(is.definition, option)]
      if (OF_STEPS.includes(option) || isSame(one, other)) return false
      return option !== 'required' || is.definition.required !== true
    })
    if (refused.has(`${table}.${column}`)) return []
    return options.map((option) => ({ table, column, what: `${option} changed` }))
  })
  const rules = Object.keys({ ...before.rules, ...target.rules }).filter(
    (rule) => !isSame(Reflect.get(before.rules, rule), Reflect.get(target.rules, rule)),
  )
  return [...added, ...changed, ...rules.map((rule) => ({ what: `${rule} changed` }))]
}

/** Returns the columns that both have. */
function eachColumn(before: CatalogSchema, target: CatalogSchema) {
  return Object.entries(target.tables).flatMap(([table, { columns }]) =>
    Object.entries(columns).flatMap(([column, is]) => {
      const was = before.tables[table]?.columns[column]
      return was === undefined || isSame(was.definition, is.definition) ? [] : [{ table, column, was, is }]
    }),
  )
}

function leftOut(before: CatalogSchema, { tables }: Schema, { drop = {} }: SchemaMoves): SchemaPlace[] {
  const names = new Map(Object.keys(tables).map((name) => [storedName(before.tables, name, tables) ?? name, name]))
  return Object.entries(before.tables).flatMap(([table, { columns, leftOut: isLeftOut }]): SchemaPlace[] => {
    const own = tables[names.get(table) ?? '']
    if (own === undefined) return isLeftOut === true || drop[table] !== undefined ? [] : [{ table }]
    const known = new Set(Object.keys(own).map((column) => storedName(columns, column, own)))
    return Object.entries(columns).flatMap(([column, one]) =>
      known.has(column) || one.leftOut === true || drop[`${table}.${column}`] !== undefined ? [] : [{ table, column }],
    )
  })
}
