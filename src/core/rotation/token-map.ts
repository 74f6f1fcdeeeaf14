/** Pairs the ids and tokens of records by both look-up keys, for applications that change their own tables between a rotation and its end. */
import { replacedVersion } from '../barrier/digest-values.ts'
import { mintTokens, type StoredRecord, type Tokens } from '../barrier/mint-tokens.ts'
import { encodeRecordIds } from '../barrier/record-ids.ts'
import { fault } from '../errors.ts'
import { eachPossiblePage } from '../pace/pace.ts'
import type { KeyRing } from '../ports/crypto.ts'
import type { StorageReads } from '../ports/storage.ts'
import { mintInputOfRows } from '../records/show-records.ts'
import type { ReadingContext } from '../row-access/evaluate-access.ts'
import type { Table } from '../schema/layout.ts'
import { at } from '../util/lists.ts'

/** A text of the older look-up key, and the one of the newest in its place. */
export type TextPair = readonly [old: string, new: string]

/** The id and the tokens of a record. A token that stays, such as one that is stored, is left out. */
export interface MappedRecord {
  readonly id: TextPair
  /** By the name of the column. */
  readonly tokens: Readonly<Record<string, TextPair>>
}

type MapContext = Pick<ReadingContext, 'barrier' | 'clock' | 'scheduler'>

/** True if columns of a table have tokens from before a change of the schema. */
export function hasFormerTokens({ written }: Table): boolean {
  return written?.hidden.some(({ column }) => column.token !== undefined) === true
}

/** Yields the records of a table with the tokens of before a change of the schema, and those that took their place, in the order of insertion. Ids stay. */
export async function* mapFormerTokens(storage: StorageReads, context: MapContext, table: Table): AsyncGenerator<MappedRecord> {
  const { ring } = context.barrier
  const written = table.written ?? table
  const former = written.tokenized.filter(({ origin }) => origin !== undefined)
  const columns = [...former, ...former.flatMap(({ origin }) => (origin?.token === undefined ? [] : [origin]))]
  for await (const rows of eachPossiblePage(storage, table.physical.name, { scheduler: context.scheduler })) {
    const tokens = mintTokens(ring, columns, mintInputOfRows(context, written, { group: rows, columns }))
    const ids = encodeRecordIds(
      ring,
      table,
      rows.map((row) => row.id),
    )
    for (const [index, all] of tokens.entries()) {
      const pairs = former.flatMap(({ name, origin }): [string, TextPair][] => {
        const [old, now] = [all[name], all[origin?.name ?? name]]
        return typeof old !== 'string' || typeof now !== 'string' || old === now ? [] : [[origin?.name ?? name, [old, now]]]
      })
      yield { id: [at(ids, index), at(ids, index)], tokens: Object.fromEntries(pairs) }
    }
  }
}

/** Yields the records of a table, in the order of insertion. Throws `failed_precondition` unless a rotation of look-up keys has ended and is not finished. */
export async function* mapTokens(storage: StorageReads, context: MapContext, table: Table): AsyncGenerator<MappedRecord> {
  pairOfRings(context)
  for await (const rows of eachPossiblePage(storage, table.physical.name, { scheduler: context.scheduler })) {
    const input = mintInputOfRows(context, table, { group: rows, columns: table.tokenized })
    const [old, now] = pairOfRings(context).map((ring): StoredRecord[] => {
      const ids = encodeRecordIds(ring, table, input.ids)
      return mintTokens(ring, table.tokenized, input).map((tokens, index) => ({ id: at(ids, index), tokens }))
    })
    for (const [index, { id, tokens }] of (old ?? []).entries()) {
      const after = at(now ?? [], index)
      yield { id: [id, after.id], tokens: pairsOf(tokens ?? {}, after.tokens ?? {}) }
    }
  }
}

function pairsOf(old: Tokens, now: Tokens): Record<string, TextPair> {
  return Object.fromEntries(
    Object.entries(old).flatMap(([column, text]) => {
      const after = now[column]
      return text === null || after === undefined || after === null || after === text ? [] : [[column, [text, after] as const]]
    }),
  )
}

/** Returns the ring as it made texts before, and as it makes them now. */
function pairOfRings({ barrier: { ring } }: MapContext): readonly [old: KeyRing, now: KeyRing] {
  const older = replacedVersion(ring)
  if (older !== undefined && older !== ring.lookupVersion) return [{ ...ring, lookupVersion: older }, ring]
  throw fault('failed_precondition')`No rotation of look-up keys has ended that is not finished. Call rotateLookups first.`
}
