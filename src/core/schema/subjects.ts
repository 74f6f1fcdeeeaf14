/** The people that records are about: the table of a subject, and how other tables refer to it. */
import { type Fault, fault, type Sentence, say, words } from '../errors.ts'
import {
  type ColumnDefinition,
  columnNamed,
  hasDigest,
  isTransient,
  normalizersOf,
  type SchemaDefinition,
  tableNamed,
  typeOf,
} from './column.ts'
import { nameProblem } from './names.ts'

/** How a table refers to a subject, or to a table that belongs to it. */
export type SubjectRelation<S extends SchemaDefinition = SchemaDefinition> = {
  readonly [T in keyof S & string]: { readonly table: T; readonly column: keyof S[T] & string } & (
    | {
        /** The column holds the id of a record of this table. */
        readonly references: keyof S & string
      }
    | {
        /** The column holds the same value as this one, `table.column`, of one column group. */
        readonly equals: string
      }
  )
}[keyof S & string]

/** One kind of subject. */
export interface SubjectDefinition<S extends SchemaDefinition = SchemaDefinition> {
  /** The table with one record for each subject. */
  readonly table: keyof S & string
  /** The other tables with records of a subject. */
  readonly relations?: readonly SubjectRelation<S>[]
  /** Whether the records of each subject are sealed under a key of its own. Default false. */
  readonly ownKeys?: boolean
}

/** Number of relations between a subject and the records that are farthest from it. */
const MAX_DEPTH = 4

/** Where a relation comes from: the table, and the column whose values it equals; undefined for one that holds record ids. */
export function originOf(relation: SubjectRelation): { readonly table: string; readonly column: string | undefined } {
  if ('references' in relation) return { table: relation.references, column: undefined }
  const dot = relation.equals.indexOf('.')
  return { table: relation.equals.slice(0, Math.max(0, dot)), column: relation.equals.slice(dot + 1) }
}

/**
 * Returns the tables of a subject with their relations, each table after those that its relations come from, the table of the subject first. Tables that
 * are part of a cycle, or that nothing leads to, are left out.
 */
export function subjectTables({
  table,
  relations = [],
}: SubjectDefinition): ReadonlyMap<string, { readonly depth: number; readonly relations: readonly SubjectRelation[] }> {
  const ordered = new Map<string, { depth: number; relations: readonly SubjectRelation[] }>([
    [table, { depth: 0, relations: [] }],
  ])
  const waiting = new Map<string, SubjectRelation[]>()
  for (const relation of relations) waiting.set(relation.table, [...(waiting.get(relation.table) ?? []), relation])
  waiting.delete(table)
  for (let before = -1; before !== ordered.size; ) {
    before = ordered.size
    for (const [name, own] of waiting) {
      const depths = own.map((relation) => ordered.get(originOf(relation).table)?.depth)
      if (depths.includes(undefined)) continue
      const depth = 1 + depths.reduce((most: number, one = 0) => Math.max(most, one), 0)
      ordered.set(name, { depth, relations: own })
      waiting.delete(name)
    }
  }
  return ordered
}

/** Throws `invalid_request` for a subject whose records could not be found, or only by reading every record of a table. */
export function assertSubjects(
  tables: SchemaDefinition,
  subjects: Readonly<Record<string, SubjectDefinition>> | undefined = {},
): void {
  for (const [name, subject] of Object.entries(subjects)) {
    const problem = nameProblem(name)
    if (problem !== undefined) throw invalid(say`the name of subject ${name} ${words(problem)}.`, {})
    if (!Object.hasOwn(tables, subject.table))
      throw invalid(say`subject ${name} is of table ${subject.table}, which the schema lacks.`, {})
    for (const relation of subject.relations ?? []) assertRelation(tables, name, relation)
    assertReached(name, subject)
  }
}

function assertRelation(tables: SchemaDefinition, subject: string, relation: SubjectRelation): void {
  const detail = { table: relation.table, column: relation.column }
  const where = say`in subject ${subject}, column ${relation.column} of table ${relation.table}`
  const column = columnOf(tables, relation.table, relation.column)
  if (column === undefined) throw invalid(say`${where} does not exist.`, detail)
  const way = lookupOf(column)
  if (way === undefined)
    throw invalid(
      say`${where} is not found by an index, and a person is never found by a scan: make it unique or searchable, or plain with index: true.`,
      detail,
    )
  const origin = originOf(relation)
  if (origin.column === undefined) {
    if (!Object.hasOwn(tables, origin.table))
      throw invalid(say`${where} references table ${origin.table}, which the schema lacks.`, detail)
    if (typeOf(column).name !== 'STRING' || normalizersOf(column).length > 0)
      throw invalid(
        say`${where} must be a STRING without normalize to hold record ids, which are compared letter by letter.`,
        detail,
      )
    return
  }
  const other = columnOf(tables, origin.table, origin.column)
  if (other === undefined)
    throw invalid(say`${where} equals ${origin.table}.${origin.column}, which is no table.column of the schema.`, detail)
  if (!areComparable(column, other))
    throw invalid(
      say`${where} equals ${origin.table}.${origin.column}, and cannot be compared with it: both must be unique or searchable and of one columnGroup, or both plain, indexed and of one type.`,
      detail,
    )
}

function columnOf(tables: SchemaDefinition, table: string, column: string): ColumnDefinition | undefined {
  return columnNamed(tableNamed(tables, table), column)
}

/** Returns by what records with a value of a column are found; undefined if only by reading all. */
function lookupOf(definition: ColumnDefinition): 'plain' | 'digest' | undefined {
  if (isTransient(definition)) return undefined
  if (definition.encrypted === false && (definition.unique === true || definition.index === true)) return 'plain'
  return hasDigest(definition) ? 'digest' : undefined
}

function areComparable(left: ColumnDefinition, right: ColumnDefinition): boolean {
  const way = lookupOf(left)
  if (way === undefined || lookupOf(right) !== way || typeOf(left) !== typeOf(right)) return false
  return way === 'plain' || (left.columnGroup !== undefined && left.columnGroup === right.columnGroup)
}

/** Throws for a relation that does not lead to the table of the subject, is part of a cycle, or is too far from it. */
function assertReached(name: string, subject: SubjectDefinition): void {
  const ordered = subjectTables(subject)
  for (const { table, column } of subject.relations ?? []) {
    const detail = { table, column }
    const place = ordered.get(table)
    if (table === subject.table || place === undefined)
      throw invalid(
        say`in subject ${name}, column ${column} of table ${table} does not lead to table ${subject.table} without a cycle. Each relation must come from that table, or from the table of another relation.`,
        detail,
      )
    if (place.depth > MAX_DEPTH)
      throw invalid(
        say`in subject ${name}, table ${table} is more than ${MAX_DEPTH} relations away from table ${subject.table}.`,
        detail,
      )
  }
}

function invalid(problem: Sentence, detail: { readonly table?: string; readonly column?: string }): Fault {
  return fault('invalid_request', detail)`Invalid schema: ${problem}`
}
