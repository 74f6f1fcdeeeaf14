/** Takes up the schema a vault is opened with: adds what is new, refuses what would lose or weaken, fills new digests. */
import type { Barrier } from '../barrier/barrier.ts'
import { digestPresent } from '../barrier/digest-values.ts'
import { openRows } from '../barrier/reveal.ts'
import { isVaultError, VaultError } from '../errors.ts'
import type { Patch, PhysicalTable, Row, Storage } from '../ports/storage.ts'
import type { Allotment } from '../schema/allotment.ts'
import { allotSchema } from '../schema/allotment.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import type { Column, Layout, Table } from '../schema/layout.ts'
import { layoutSchema } from '../schema/layout.ts'
import { SIDE_TABLES } from '../schema/side-tables.ts'
import { keyOfBytes } from '../util/bytes.ts'

const EVERY = { kind: 'every' } as const

/** Rows read at a time while digests are filled. */
const SLICE = 500

/** The schema a vault had, the one it is opened with, and how the catalog takes note; false when another process was quicker. */
export interface SchemaChange {
  readonly known: Allotment
  readonly definition: SchemaDefinition
  remember(storage: Storage, allotment: Allotment): Promise<boolean>
}

/**
 * The live tables of the schema. Throws `failed_precondition` naming the column when it may not be taken up; undefined when another
 * process changed the catalog meanwhile. The catalog's row is changed first and in one transaction with the digests that
 * new uniqueness needs: of several processes opening at once, one fills them and the others wait for it.
 */
export async function adoptSchema(
  storage: Storage,
  barrier: Barrier,
  { known, definition, remember }: SchemaChange,
): Promise<Layout | undefined> {
  const allotment = allotSchema(definition, known)
  const layout = layoutSchema(allotment)
  const before = layoutSchema(known)
  // The tables as they stood, first: what the checks below read is there, and nothing is added by it.
  await storage.prepare(physicalTables(before))
  const grown = [...layout.tables.values()].flatMap((table) => grownColumns(table, before.tables.get(table.name)))
  for (const growth of grown) await assertMayGrow(storage, barrier, growth)
  await storage.prepare(physicalTables(layout))
  if (JSON.stringify(allotment) === JSON.stringify(known)) return layout
  const isRemembered = await storage.transaction(async (inner) => {
    if (!(await remember(inner, allotment))) return false
    for (const { table, column, keepsDigest } of grown) if (keepsDigest) await fillDigests(inner, barrier, table, column)
    return true
  })
  return isRemembered ? layout : undefined
}

function physicalTables(layout: Layout): PhysicalTable[] {
  return [...[...layout.tables.values()].map((table) => table.physical), ...SIDE_TABLES]
}

interface Grown {
  readonly table: Table
  readonly column: Column
  /** True for a column that was not there before. */
  readonly isNew: boolean
  /** True for a column that stood before and now keeps a digest. */
  readonly keepsDigest: boolean
  /** True for a column that stood before and must have values from now on. */
  readonly isRequired: boolean
}

/** Columns added to a table that stood before, and columns of it of which more is asked now. */
function grownColumns(table: Table, before: Table | undefined): Grown[] {
  if (before === undefined) return []
  return table.columns.flatMap((column): Grown[] => {
    const was = before.byName.get(column.name)
    if (was === undefined) return [{ table, column, isNew: true, keepsDigest: false, isRequired: false }]
    const keepsDigest = column.digest !== undefined && was.digest === undefined
    const isRequired = column.required && !was.required
    return keepsDigest || isRequired ? [{ table, column, isNew: false, keepsDigest, isRequired }] : []
  })
}

/** Refuses a growth that the stored records do not bear. */
async function assertMayGrow(
  storage: Storage,
  barrier: Barrier,
  { table, column, isNew, keepsDigest, isRequired }: Grown,
): Promise<void> {
  if (isNew) {
    const first = column.required ? await storage.find(table.physical.name, EVERY, { order: 'up', limit: 1 }) : []
    if (first.length > 0) {
      throw refused(table, column, 'is required and new, and there are records without it. Add it as not required first')
    }
    return
  }
  const seen = new Set<string>()
  await eachSlice(storage, table, async (rows) => {
    const values = valuesOf(barrier, table, column, rows)
    if (isRequired && values.includes(null)) {
      throw refused(table, column, 'was made required, and there are records without it. Give them values first')
    }
    if (!keepsDigest || !column.unique) return
    for (const digest of digestPresent(barrier.ring, column, values)) {
      if (digest === undefined) continue
      const key = keyOfBytes(digest)
      if (seen.has(key)) throw refused(table, column, 'was made unique, and records share values in it. Make them differ first')
      seen.add(key)
    }
  })
}

/** Gives every row its digest. A row that changes meanwhile is read again. */
async function fillDigests(storage: Storage, barrier: Barrier, table: Table, column: Column): Promise<void> {
  const name = column.digest ?? ''
  // Digests of an earlier try that broke off may be stale; they go first, so that none of them clashes with a fresh one.
  await eachSlice(storage, table, (rows) =>
    patchSlice(storage, table, rows, (slice) => slice.map((row) => patchOf(row, name, undefined))),
  )
  await eachSlice(storage, table, (rows) =>
    patchSlice(storage, table, rows, (slice) => {
      const digests = digestPresent(barrier.ring, column, valuesOf(barrier, table, column, slice))
      return slice.map((row, index) => patchOf(row, name, digests[index]))
    }),
  ).catch((error: unknown) => {
    throw isVaultError(error, 'conflict')
      ? refused(table, column, 'was made unique, and records share values in it. Make them differ first')
      : error
  })
}

function patchOf(row: Row, name: string, digest: Uint8Array | undefined): Patch {
  return { id: row.id, version: row.version, set: { [name]: digest ?? null } }
}

/** Patches a slice, reading again whatever changed between reading and writing. */
async function patchSlice(
  storage: Storage,
  table: Table,
  rows: readonly Row[],
  patchesFor: (rows: readonly Row[]) => Patch[],
): Promise<void> {
  let pending = rows
  while (pending.length > 0) {
    const matched = await storage.update(table.physical.name, patchesFor(pending))
    const missed = pending.filter((_, index) => matched[index] !== true)
    const again = await storage.get(
      table.physical.name,
      missed.map((row) => row.id),
    )
    pending = again.filter((row) => row !== undefined)
  }
}

/** The value of each row, null where it has none. */
function valuesOf(barrier: Barrier, table: Table, column: Column, rows: readonly Row[]): unknown[] {
  const cursor = openRows(barrier, table, rows)
  return rows.map((_, index) => {
    cursor.to(index)
    return cursor.value(column)
  })
}

async function eachSlice(storage: Storage, table: Table, work: (rows: readonly Row[]) => Promise<void>): Promise<void> {
  let after = 0
  for (;;) {
    const rows = await storage.find(table.physical.name, { kind: 'every' }, { order: 'up', after, limit: SLICE })
    const last = rows[rows.length - 1]
    if (last === undefined) return
    await work(rows)
    after = last.id
  }
}

function refused(table: Table, column: Column, what: string): VaultError {
  return new VaultError(
    'failed_precondition',
    `The vault was not opened, and nothing was changed: column ${column.name} of table ${table.name} ${what}.`,
    {
      table: table.name,
      column: column.name,
    },
  )
}
