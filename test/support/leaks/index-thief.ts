/** What a thief sees of a vault with sealed indexes, or without: every row of every table, in a dump after each step, as bytes, ids and plain cells. */

import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { readDelta } from '../../../src/core/index-runs/delta.ts'
import { readHead } from '../../../src/core/index-runs/run-head.ts'
import type { Filter, Row, Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import type { SchemaDefinition } from '../../../src/core/schema/column.ts'
import { INDEX_BLOCKS, INDEX_RUNS, SYSTEM_TABLES } from '../../../src/core/schema/system-tables.ts'
import { openEntry } from '../../../src/core/sealing/envelope.ts'
import { toHex } from '../../../src/core/util/bytes.ts'
import { required } from '../../../src/core/util/lists.ts'
import { keyOfGroup } from '../indexes/group-keys.ts'
import { type Merged, openMerged, VAULT } from '../indexes/merged-vault.ts'
import type { Features } from './leakage-attacks.ts'

/** Blocks that are small, so that a test has many. */
const SMALL_BLOCKS = 256

/** A fault that is planted: what a thief would see of a row of the index if it were stored in another way. `content` is what is sealed in it. */
export type Fault = (body: Uint8Array, content: Uint8Array) => Uint8Array

/** A sealed index that is not padded. */
export const UNPADDED: Fault = (body, content) => {
  let length = content.length
  while (length > 0 && content[length - 1] === 0) length--
  return body.subarray(0, length)
}

/** Sealed indexes of which one has the key itself in place of sealed bytes: equal bytes for equal keys, in their order. */
export function unsealed(position: number): Fault {
  return (body, content) => {
    const segment = readHead(content).kind === 'delta' ? [...readDelta(content).values()][position] : undefined
    return segment === undefined ? body : keyOfGroup(segment, 0)
  }
}

/** A row that a step stored: the table it is in, and the row. */
interface Stored {
  readonly table: string
  readonly row: Row
}

/** A vault with one table of records, and what was seen of it. */
export class SeenVault {
  readonly vault: Merged
  readonly #fault: Fault | undefined
  readonly #last = new Map<string, number>()

  private constructor(vault: Merged, fault: Fault | undefined) {
    this.vault = vault
    this.#fault = fault
  }

  /** Opens a vault whose columns have indexes or not. */
  static async open(
    columns: SchemaDefinition[string],
    { storage = memoryStorage(), blockBytes = SMALL_BLOCKS, fault }: SeenOptions = {},
  ): Promise<SeenVault> {
    const seen = new SeenVault(await openMerged(storage, { records: columns }, blockBytes), fault)
    await seen.step(async () => {})
    return seen
  }

  /** Does something, and returns the rows that are new or changed after it. */
  async step(work: () => Promise<unknown>): Promise<Stored[]> {
    await work()
    const stored: Stored[] = []
    for (const { name } of [...SYSTEM_TABLES, this.vault.table.physical]) {
      const rows = await this.vault.storage.find(name, { kind: 'all' }, { order: 'asc', limit: 100_000 })
      for (const row of rows) {
        const place = `${name} ${row.id}`
        if (this.#last.get(place) === row.version) continue
        this.#last.set(place, row.version)
        stored.push({ table: name, row: this.#asSeen(name, row) })
      }
    }
    return stored
  }

  /** Ids of the blocks of each run, in the order of their keys, which no thief has. */
  async blocks(): Promise<number[][]> {
    const rows = await this.vault.storage.find(INDEX_RUNS.name, { kind: 'all' }, { order: 'asc', limit: 1000 })
    return rows.flatMap((row) => {
      const head = readHead(this.#open(row))
      return head.kind === 'run' ? [[...head.run.ids]] : []
    })
  }

  #asSeen(table: string, row: Row): Row {
    if (table !== INDEX_RUNS.name || this.#fault === undefined) return row
    return { ...row, body: this.#fault(row.body as Uint8Array, this.#open(row)) }
  }

  #open({ id, body }: Row): Uint8Array {
    return required(openEntry({ ring: this.vault.ring, vault: VAULT, kind: 'run', id }, body as Uint8Array))
  }
}

/** How a vault is seen. Each has a default. */
export interface SeenOptions {
  readonly storage?: StorageHandle
  readonly blockBytes?: number
  readonly fault?: Fault
}

/** What is seen of the rows that one step stored in a part of the tables: how many there are, how long, where, and whether they are like others. */
export function featuresOf(stored: readonly Stored[]): Record<string, string | number> {
  const lengths = stored.map(({ row: { body } }) => (body instanceof Uint8Array ? body.length : 0))
  return {
    rows: stored.length,
    bytes: lengths.reduce((sum, length) => sum + length, 0),
    lengths: lengths.join(),
    ids: stored.map(({ row: { id } }) => id)[0] ?? 0,
    places: stored.map(({ table, row }) => `${table}:${row.space ?? row.run}`).join(),
    first: bytesOf(stored[0]),
  }
}

/** Returns the features of each step as one list of each. */
export function asFeatures(steps: readonly Readonly<Record<string, string | number>>[]): Features {
  const names = Object.keys(steps[0] ?? {})
  return new Map(names.map((name) => [name, steps.map((step) => required(step[name]))]))
}

/** True for the tables that only an index has. */
export function isOfIndex({ table }: Stored): boolean {
  return table === INDEX_RUNS.name || table === INDEX_BLOCKS.name
}

function bytesOf(stored: Stored | undefined): string {
  const body = stored?.row.body
  return body instanceof Uint8Array ? toHex(body) : ''
}

/** What a watcher of the database's queries has: of each read by ids, which rows of which table. */
export interface QueryLog {
  readonly storage: StorageHandle
  readonly reads: { readonly table: string; readonly ids: readonly number[] }[]
}

/** Wraps a storage whose reads are logged with their parameters, and whose insertions of blocks are. */
export function loggedStorage(sound: StorageHandle): QueryLog & { readonly writes: number[] } {
  const reads: { table: string; ids: readonly number[] }[] = []
  const writes: number[] = []
  const note = (table: string, filter: Filter): void => {
    const parts = filter.kind === 'and' ? filter.filters : [filter]
    const ids = parts.flatMap((part) => (part.kind === 'in' && part.column === 'id' ? part.values.map(Number) : []))
    if (ids.length > 0) reads.push({ table, ids })
  }
  const wrap = (inner: Storage): Storage => ({
    ...inner,
    get(table, ids) {
      reads.push({ table, ids })
      return inner.get(table, ids)
    },
    find(table, filter, page) {
      note(table, filter)
      return inner.find(table, filter, page)
    },
    scan(table, filter, page) {
      note(table, filter)
      return inner.scan(table, filter, page)
    },
    insert(table, rows) {
      if (table === INDEX_BLOCKS.name) writes.push(...rows.map(({ id }) => id))
      return inner.insert(table, rows)
    },
    transaction: (work, options) => inner.transaction((within) => work(wrap(within)), options),
  })
  return { storage: { ...sound, ...wrap(sound) }, reads, writes }
}
