/** Legal holds: what each holds, as entries that are found by a keyed digest, and which records they keep from being deleted. */
import { type EntryKeys, entriesIn, entryPatch, listEntries, newEntryRow, type OpenedEntry } from '../credentials/entry-rows.ts'
import { type Fault, fault, words } from '../errors.ts'
import type { NewRow, Patch, Storage, StorageReads } from '../ports/storage.ts'
import type { ReadingContext } from '../row-access/evaluate-access.ts'
import type { Table } from '../schema/layout.ts'
import { CREDENTIALS } from '../schema/system-tables.ts'
import { nowMs } from '../util/time.ts'
import { subjectsOfRows } from './subjects-of-rows.ts'

/** What is held: one record, or all records of a subject, those to come included. */
export interface HeldThing {
  /** The name of the subject; absent for a record. */
  readonly subject?: string
  /** Object id of the table of the record. */
  readonly objectId: number
  readonly row: number
}

/** A hold, as the entry of each thing that it holds says it. Times are in milliseconds since 1970. */
export interface StoredHold {
  readonly id: string
  readonly reason: string
  readonly placedAt: number
  readonly placedBy: string
  /** From then on it holds nothing. Absent: until it is lifted. */
  readonly until?: number
}

/** A thing, and a hold of it. */
export interface HoldOfThing {
  readonly thing: HeldThing
  readonly hold: StoredHold
}

/** The content of an entry: a thing can have several holds. */
interface HoldContent {
  readonly thing: HeldThing
  readonly holds: readonly StoredHold[]
}

/** Entries of a page. */
const PAGE = 500

function nameOf({ subject, objectId, row }: HeldThing): { readonly kind: 'hold'; readonly name: string } {
  return { kind: 'hold', name: `${subject ?? ''}/${objectId}/${row}` }
}

function contentOf({ entry }: OpenedEntry): HoldContent {
  return entry.content as HoldContent // It was authenticated with its kind, so it is what `entryOf` wrote.
}

function entryOf(content: HoldContent) {
  return { ...nameOf(content.thing), expiresAt: null, content }
}

/** Stores a hold of each of these things, inside a transaction. No thing occurs twice. */
export async function storeHold(
  storage: Storage,
  keys: EntryKeys,
  things: readonly HeldThing[],
  hold: StoredHold,
): Promise<void> {
  const found = await entriesIn(storage, keys, true)(things.map(nameOf))
  const rows: NewRow[] = []
  const patches: Patch[] = []
  for (const [index, thing] of things.entries()) {
    const known = found[index]
    if (known === undefined) rows.push(await newEntryRow(storage, keys, entryOf({ thing, holds: [hold] })))
    else patches.push(entryPatch(keys, known, entryOf({ thing, holds: [...contentOf(known).holds, hold] })))
  }
  await storage.insert(CREDENTIALS.name, rows)
  await storage.update(CREDENTIALS.name, patches)
}

/** Removes a hold of everything, inside a transaction. Returns what it held; nothing if there is no such hold. */
export async function removeHold(storage: Storage, keys: EntryKeys, id: string): Promise<readonly HeldThing[]> {
  const things: HeldThing[] = []
  const ended: number[] = []
  const patches: Patch[] = []
  for await (const opened of eachEntry(storage, keys)) {
    const { thing, holds } = contentOf(opened)
    const others = holds.filter((hold) => hold.id !== id)
    if (others.length === holds.length) continue
    things.push(thing)
    if (others.length === 0) ended.push(opened.id)
    else patches.push(entryPatch(keys, opened, entryOf({ thing, holds: others })))
  }
  if (ended.length > 0) await storage.delete(CREDENTIALS.name, { ids: ended })
  await storage.update(CREDENTIALS.name, patches)
  return things
}

/** Returns all holds of all things. */
export async function listHolds(storage: StorageReads, keys: EntryKeys): Promise<readonly HoldOfThing[]> {
  const all: HoldOfThing[] = []
  for await (const opened of eachEntry(storage, keys)) {
    const { thing, holds } = contentOf(opened)
    for (const hold of holds) all.push({ thing, hold })
  }
  return all
}

async function* eachEntry(storage: StorageReads, keys: EntryKeys): AsyncGenerator<OpenedEntry> {
  for (let after = 0; ; ) {
    const entries = await listEntries(storage, keys, { kind: 'hold', page: { order: 'asc', after, limit: PAGE } })
    yield* entries
    const last = entries.at(-1)
    if (last === undefined || entries.length < PAGE) return
    after = last.id
  }
}

/** What is needed to know which records are held. */
export interface HoldingContext extends Pick<ReadingContext, 'barrier' | 'layout' | 'clock'> {
  readonly catalog: { readonly holds: number }
}

/** Rows of one table. */
interface RowsOfTable {
  readonly table: Table
  readonly rows: readonly number[]
}

const NONE: ReadonlyMap<number, string> = new Map()

/**
 * Returns the id of a hold for each of these rows that has one, of itself or of a subject that it belongs to. Reads nothing while the vault has no hold:
 * the number of them is in the catalog, with which each change is compared before it commits.
 */
export async function findHeld(
  storage: StorageReads,
  context: HoldingContext,
  { table, rows }: RowsOfTable,
): Promise<ReadonlyMap<number, string>> {
  const { barrier, layout, catalog } = context
  if (catalog.holds === 0 || rows.length === 0) return NONE
  const things: { readonly thing: HeldThing; readonly rows: Iterable<number> }[] = rows.map((row) => ({
    thing: { objectId: table.objectId, row },
    rows: [row],
  }))
  for (const [name, subject] of Object.entries(layout.rules.subjects ?? {})) {
    const objectId = layout.tables.get(subject.table)?.objectId ?? 0
    const subjects = await subjectsOfRows(storage, context, subject, { table, rows })
    for (const [row, origins] of subjects) things.push({ thing: { subject: name, objectId, row }, rows: origins })
  }
  const found = await entriesIn(storage, barrier)(things.map(({ thing }) => nameOf(thing)))
  const now = nowMs(context)
  const held = new Map<number, string>()
  for (const [index, opened] of found.entries()) {
    const hold = opened && contentOf(opened).holds.find(({ until }) => until === undefined || now < until)
    if (hold !== undefined) for (const row of things[index]?.rows ?? []) held.set(row, hold.id)
  }
  return held
}

/** Throws `failed_precondition`, with the id of a hold, if one of these rows is held. */
export async function assertNotHeld(storage: StorageReads, context: HoldingContext, rows: RowsOfTable): Promise<void> {
  const [hold] = (await findHeld(storage, context, rows)).values()
  if (hold !== undefined) throw isHeld(rows.table, hold)
}

/** Returns the error for a record that a hold keeps. */
export function isHeld({ name }: Pick<Table, 'name'>, hold: string): Fault {
  return fault('failed_precondition', {
    table: name,
  })`A record of table ${name} is under legal hold ${words(hold)}. Nothing was deleted. vault.holds.lift() ends the hold.`
}
