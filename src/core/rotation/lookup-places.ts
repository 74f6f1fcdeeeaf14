/** Where digests are, and how rows get those of the newest look-up key: the only list of it. The pass that replaces them, and the proof that the older key may go, read it. */
import type { Barrier } from '../barrier/barrier.ts'
import { digestPresent } from '../barrier/digest-values.ts'
import { openRows } from '../barrier/reveal.ts'
import { revealTransients } from '../barrier/transients.ts'
import { entryDigests } from '../credentials/entry-rows.ts'
import { isVaultError } from '../errors.ts'
import { isRowId } from '../pace/pace.ts'
import type { Cell, Patch, Row, StorageReads } from '../ports/storage.ts'
import { type ReplacedDigests, showsDigest } from '../records/former-tokens.ts'
import { digestTokenTexts, getTransients } from '../records/token-store.ts'
import type { Layout, Table } from '../schema/layout.ts'
import { CREDENTIALS, TOKENS } from '../schema/system-tables.ts'
import { sameBytes } from '../util/bytes.ts'
import { at, groupBy } from '../util/lists.ts'

/** What rows need. A digest that is of neither key was changed in the database: it stays, and `verifyRecords` reports it. */
export interface RaisedRows {
  /** The patches of rows that have a digest of the older key. */
  readonly patches: readonly Patch[]
  /** The digests that they replace, where those are tokens. */
  readonly former: ReplacedDigests
  /** Rows that do not open, so that their digests can be of the older key. */
  readonly unreadable: readonly Row[]
}

/** A table with digests. */
export interface LookupPlace {
  readonly table: string
  /** Returns what these rows need, while there are two look-up keys. */
  raise(storage: StorageReads, rows: readonly Row[]): Promise<RaisedRows>
}

/** Returns the places of a vault. Its ring is read again for each slice. */
export function lookupPlaces(barrier: Barrier, layout: Layout): readonly LookupPlace[] {
  const tables = [...layout.tables.values()].map((table) => table.written ?? table)
  const records = tables.filter(({ digestWritten }) => digestWritten.length > 0)
  return [
    ...records.map(
      (table): LookupPlace => ({ table: table.physical.name, raise: async (_, rows) => raiseRecords(barrier, table, rows) }),
    ),
    {
      table: TOKENS.name,
      raise: async (storage, rows) => {
        const texts = await textsOf(storage, barrier, layout, rows)
        const found = rows.map((row) => texts.get(row) ?? '')
        const digests = barrier.ring.lookupVersions.map((version) => digestTokenTexts(barrier.ring, found, version))
        return raiseNamed(rows, (index) => (texts.has(at(rows, index)) ? digests.map((of) => at(of, index)) : undefined))
      },
    },
    {
      table: CREDENTIALS.name,
      raise: async (_, rows) => {
        const digests = entryDigests(barrier, rows)
        return raiseNamed(rows, (index) => digests[index])
      },
    },
  ]
}

const NO_FORMER: ReplacedDigests = { older: [], newest: [] }

/** `digestsOf` returns the digests of a row by the newest key and by the older one; undefined if it does not open. */
function raiseNamed(rows: readonly Row[], digestsOf: (index: number) => readonly Uint8Array[] | undefined): RaisedRows {
  const patches: Patch[] = []
  const unreadable: Row[] = []
  for (const [index, row] of rows.entries()) {
    const [newest, older] = digestsOf(index) ?? []
    if (newest === undefined || older === undefined) unreadable.push(row)
    else if (isDigest(row.digest, older)) patches.push({ id: row.id, version: row.version, set: { digest: newest } })
  }
  return { patches, former: NO_FORMER, unreadable }
}

function isDigest(stored: Cell | undefined, digest: Uint8Array): boolean {
  return stored instanceof Uint8Array && sameBytes(stored, digest)
}

function raiseRecords(barrier: Barrier, table: Table, rows: readonly Row[]): RaisedRows {
  const values = openedValues(barrier, table, rows)
  const [newestVersion, olderVersion] = barrier.ring.lookupVersions
  const sets = rows.map((): Record<string, Cell> => ({}))
  const former = { older: [] as Uint8Array[], newest: [] as Uint8Array[] }
  const unreadable = new Set<Row>()
  for (const [nth, column] of table.digestWritten.entries()) {
    const { writtenDigest: name = '' } = column
    const held = values.map((record) => record?.[nth] ?? null)
    const after = digestPresent(barrier.ring, column, held, newestVersion)
    const before = digestPresent(barrier.ring, column, held, olderVersion)
    for (const [index, row] of rows.entries()) {
      const [newest, older] = [after[index], before[index]]
      if (newest === undefined || older === undefined) {
        if (values[index] === undefined && row[name] instanceof Uint8Array) unreadable.add(row)
      } else if (isDigest(row[name], older)) {
        at(sets, index)[name] = newest
        if (!showsDigest(column)) continue
        former.older.push(older)
        former.newest.push(newest)
      }
    }
  }
  const patches = rows.flatMap(({ id, version }, index) => {
    const set = at(sets, index)
    return Object.keys(set).length === 0 ? [] : [{ id, version, set }]
  })
  return { patches, former, unreadable: [...unreadable] }
}

/** Returns the values of the columns with digests, in order; undefined for a row that does not open. */
function openedValues(barrier: Barrier, table: Table, rows: readonly Row[]): (readonly unknown[] | undefined)[] {
  const cursor = openRows(barrier, table, rows)
  return rows.map((_, index) =>
    opened(() => {
      cursor.to(index)
      return table.digestWritten.map((column) => cursor.value(column))
    }),
  )
}

/** Returns what is read from a row; undefined if the row does not open. */
function opened<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (isVaultError(error, 'data_loss')) return undefined
    throw error
  }
}

/** Returns the text of each stored token, from the cell that it belongs to. One whose cell does not exist or open is left out. */
async function textsOf(
  storage: StorageReads,
  barrier: Barrier,
  { tokenColumns }: Layout,
  rows: readonly Row[],
): Promise<ReadonlyMap<Row, string>> {
  const texts = new Map<Row, string>()
  const possible = rows.filter(({ row_id: id }) => isRowId(id))
  for (const [found, group] of groupBy(possible, ({ object_id: id }) => tokenColumns.get(Number(id)))) {
    if (found === undefined) continue
    const { table, column } = found
    const ids = group.map(({ row_id: id }) => Number(id))
    const note = (index: number, text: string | undefined): void => {
      if (text !== undefined) texts.set(at(group, index), text)
    }
    if (column.token?.expires === true) {
      const values = revealTransients(barrier, column, await getTransients(storage, ids))
      for (const [index, value] of values.entries()) note(index, value?.text)
      continue
    }
    const cells = await storage.get(table.physical.name, ids)
    const cursor = openRows(
      barrier,
      table,
      cells.filter((row) => row !== undefined),
    )
    let next = 0
    for (const [index, cell] of cells.entries()) {
      if (cell === undefined) continue
      const k = next++
      note(
        index,
        opened(() => {
          cursor.to(k)
          return cursor.tokenText(column)
        }),
      )
    }
  }
  return texts
}
