/** Finds the rows of a subject: table by table, by indexes only, and a page at a time. */
import { allLookupCells, keyOfCell } from '../barrier/digest-values.ts'
import { allRecordIds } from '../barrier/record-ids.ts'
import { columnValues } from '../barrier/reveal.ts'
import { byBodies, eachPage, inSlices } from '../pace/pace.ts'
import type { Cell, Filter, Row, StorageReads } from '../ports/storage.ts'
import type { ReadingContext } from '../row-access/evaluate-access.ts'
import { areHeld } from '../row-access/find-visible.ts'
import { BODY, type Table } from '../schema/layout.ts'
import { append, present, required } from '../util/lists.ts'
import type { PlannedRelation, SubjectPlan } from './subject-plan.ts'

/** Number of cells that are looked up at a time. */
const SLICE = 500

/** The rows of a subject by table, in the order of the plan: the version of each by its id. */
export type FoundRows = ReadonlyMap<Table, ReadonlyMap<number, number>>

type FindingContext = Pick<ReadingContext, 'barrier' | 'scheduler'>

/** The subject whose rows are found. */
export interface SoughtSubject {
  readonly plan: SubjectPlan
  readonly row: number
  /** True for the rows as well whose key is destroyed: a restored backup brings them back. Default false. */
  readonly withForgotten?: boolean
}

/**
 * Returns the rows of a subject. Records that refer to it are found also if it does not exist any more. Each row that was found by a digest is opened and
 * compared: a digest that was moved in the database makes no record that of another person. Only rows whose key is destroyed are believed by their
 * digests. Throws `data_loss` for a row that fails authentication.
 */
export async function findRows(
  storage: StorageReads,
  context: FindingContext,
  { plan: { root, tables }, row, withForgotten = false }: SoughtSubject,
): Promise<FoundRows> {
  const found = new Map<Table, Map<number, number>>()
  const lookups = tables
    .flatMap(({ relations }) => relations)
    .map((relation) => new RelationLookup(context, relation, withForgotten))
  const note = (table: Table, rows: readonly Row[], ids: readonly number[]): void => {
    for (const lookup of lookups) if (lookup.relation.parent === table) lookup.add(rows, ids)
  }
  const stored = [...present(await storage.get(root.physical.name, [row]))]
  if (withForgotten && stored.length === 0) {
    const filter = { kind: 'compare', column: 'id', operator: '=', value: row } as const
    for await (const rows of unopenedRows(storage, root, { filter, opened: new Set() })) append(stored, rows)
  }
  found.set(root, new Map(stored.map(({ id, version }) => [id, version])))
  note(root, stored, [row])
  for (const { table, relations } of tables.slice(1)) {
    const rows = new Map<number, number>()
    found.set(table, rows)
    for (const lookup of lookups.filter(({ relation }) => relations.includes(relation))) {
      for await (const page of lookup.pages(storage, table)) {
        const added = page.filter(({ id }) => !rows.has(id))
        for (const { id, version } of added) rows.set(id, version)
        note(
          table,
          added,
          added.map(({ id }) => id),
        )
      }
    }
  }
  return found
}

/** The cells that a relation is looked up by, each once, and the pages of rows that have them. */
class RelationLookup {
  readonly relation: PlannedRelation
  readonly #context: FindingContext
  readonly #withForgotten: boolean
  readonly #cells = new Map<string, Exclude<Cell, null>>()

  constructor(context: FindingContext, relation: PlannedRelation, withForgotten: boolean) {
    this.#context = context
    this.#withForgotten = withForgotten
    this.relation = relation
  }

  /** Adds rows of the parent. Their ids are also looked up where a row is not stored. */
  add(rows: readonly Row[], ids: readonly number[]): void {
    const { column, parent, equals } = this.relation
    const { barrier } = this.#context
    const note = (cell: Exclude<Cell, null>) => this.#cells.set(keyOfCell(cell), cell)
    const readable = equals === undefined || equals.plain !== undefined ? rows : rows.filter((row) => BODY in row)
    const values =
      equals === undefined
        ? allRecordIds(barrier.ring, parent, ids)
        : columnValues(barrier, parent, equals, readable).filter((value) => value !== null)
    for (const cell of allLookupCells(barrier.ring, column, values)) note(cell)
    if (readable.length === rows.length) return
    // What does not open any more has left its digest, of the same scope.
    for (const row of rows) {
      const digest = BODY in row ? undefined : row[equals?.digest ?? '']
      if (digest instanceof Uint8Array) note(digest.subarray(0, column.digestLength))
    }
  }

  async *pages(storage: StorageReads, table: Table): AsyncGenerator<readonly Row[]> {
    const { column } = this.relation
    const { barrier, scheduler } = this.#context
    const lookup = required(column.lookup)
    const all = [...this.#cells.values()]
    for (let start = 0; start < all.length; start += SLICE) {
      const values = all.slice(start, start + SLICE)
      const filter = { kind: 'in', column: lookup, values } as const
      const opened = new Set<number>()
      for await (const rows of eachPage(storage, table.physical.name, { filter, scheduler })) {
        for (const { id } of rows) opened.add(id)
        if (lookup !== column.digest) yield rows
        else {
          const digests = new Set(values.map(keyOfCell))
          const isHeld = await inSlices(byBodies(rows), scheduler, (from, to) =>
            areHeld(barrier, table, { column, digests, rows: rows.slice(from, to) }),
          )
          yield rows.filter((_, index) => isHeld[index])
        }
      }
      if (this.#withForgotten) yield* unopenedRows(storage, table, { filter, opened })
    }
  }
}

/** A filter, and the rows that a read of it returned. */
interface ReadFilter {
  readonly filter: Filter
  readonly opened: ReadonlySet<number>
}

/** Yields the other rows of a filter, without bodies: those that the storage leaves out, because their key is destroyed. */
async function* unopenedRows(
  storage: StorageReads,
  table: Table,
  { filter, opened }: ReadFilter,
): AsyncGenerator<readonly Row[]> {
  if (table.owner === undefined) return
  const columns = table.columns.flatMap(({ plain, digest }) => present([plain, digest]))
  for await (const rows of eachPage(storage, table.physical.name, { filter, columns })) {
    yield rows.filter(({ id }) => !opened.has(id))
  }
}

/** Returns the number of rows of each table, by its name. */
export function countsOf(found: ReadonlyMap<Table, { readonly size: number }>): Record<string, number> {
  return Object.fromEntries([...found].map(([{ name }, { size }]) => [name, size]))
}
