/** Stored tokens, found by the digests of their texts, and transient values, in rows of their own until they expire. */
import { digestItems, keyOfCell } from '../barrier/digest-values.ts'
import { slotOf, type TokenMetadata } from '../barrier/token-metadata.ts'
import type { MaintenancePass } from '../maintenance/job.ts'
import { DIGEST_BYTES, type KeyRing } from '../ports/crypto.ts'
import type { NewRow, Row, Storage, StorageReads } from '../ports/storage.ts'
import type { ReadingContext } from '../row-access/evaluate-access.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { TOKENS, TRANSIENTS } from '../schema/system-tables.ts'
import { required } from '../util/lists.ts'
import { textsToSlab } from '../util/memory.ts'
import { nowMs } from '../util/time.ts'

/** Scope of the digests of token texts. */
const SCOPE = 'token'

/** Maximum number of rows that one slice of the purge deletes. */
const SLICE = 500

/** The cell of a token: the object id of the column, and the row id of the record or of the transient value. */
export interface TokenLocation {
  readonly objectId: number
  readonly row: number
}

/** A token to store: its text, the index of its record in the request, and the row that stores it. */
export interface NewToken {
  readonly column: Column
  readonly text: string
  readonly index: number
  readonly stored: NewRow
}

/** Returns the tokens of this metadata that must be stored, in order. Called before the transaction, so that no key is used while the writer is locked. */
export async function prepareTokens(
  storage: StorageReads,
  ring: KeyRing,
  { table, ids, metadata }: { readonly table: Table; readonly ids: readonly number[]; readonly metadata: TokenMetadata },
): Promise<NewToken[]> {
  if (metadata.texts.every((text) => text === undefined)) return []
  const tokens: (TokenLocation & Omit<NewToken, 'stored'>)[] = []
  for (let index = 0; index < ids.length; index++) {
    for (const column of table.tokenized) {
      const slot = slotOf(metadata, index, column)
      const text = metadata.texts[slot]
      if (text === undefined) continue
      const row = metadata.transientRefs[slot]?.row ?? required(ids[index])
      tokens.push({ column, text, index, objectId: column.objectId, row })
    }
  }
  const rows = await tokenRows(storage, ring, tokens)
  return tokens.map(({ column, text, index }, k) => ({ column, text, index, stored: required(rows[k]) }))
}

/** Returns the rows that store these texts, in order. Inserting them throws `conflict` with the index in the list if a text is in use. */
export async function tokenRows(
  storage: StorageReads,
  ring: KeyRing,
  tokens: readonly (TokenLocation & { readonly text: string })[],
): Promise<NewRow[]> {
  if (tokens.length === 0) return []
  const ids = await storage.reserveIds(TOKENS.name, tokens.length)
  const texts = tokens.map(({ text }) => text)
  const digests = digestTokenTexts(ring, texts)
  return tokens.map(({ objectId, row }, k) => ({
    id: required(ids[k]),
    digest: required(digests[k]),
    object_id: objectId,
    row_id: row,
  }))
}

/** Drops the tokens of the cells of these columns in these rows. */
export async function dropTokens(storage: Storage, objectIds: readonly number[], rows: readonly number[]): Promise<void> {
  if (objectIds.length === 0 || rows.length === 0) return
  await storage.delete(TOKENS.name, {
    filter: {
      kind: 'and',
      filters: [
        { kind: 'in', column: 'row_id', values: rows },
        { kind: 'in', column: 'object_id', values: objectIds },
      ],
    },
  })
}

/** Returns the cell of each text, in order; undefined for a text that is not a stored token. */
export async function findTokens(
  storage: StorageReads,
  ring: KeyRing,
  texts: readonly string[],
): Promise<(TokenLocation | undefined)[]> {
  const digests = digestTokenTexts(ring, texts)
  const [, version] = ring.lookupVersions
  const older = version === undefined ? [] : digestTokenTexts(ring, texts, version)
  const values = [...digests, ...older]
  const rows = await storage.find(TOKENS.name, { kind: 'in', column: 'digest', values }, { order: 'asc', limit: values.length })
  const locations = new Map(
    rows.map((row) => [keyOfCell(row.digest), { objectId: Number(row.object_id), row: Number(row.row_id) }]),
  )
  return digests.map((digest, index) => locations.get(keyOfCell(digest)) ?? locations.get(keyOfCell(older[index])))
}

/** Returns the stored digest of each token text, in order, by default of the newest root key. */
export function digestTokenTexts(ring: KeyRing, texts: readonly string[], version?: number): Uint8Array[] {
  const digests = digestItems(ring, SCOPE, textsToSlab(texts), version)
  return texts.map((_, index) => digests.subarray(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES))
}

/** Returns row ids for `count` values. */
export async function reserveTransients(storage: StorageReads, count: number): Promise<readonly number[]> {
  return count === 0 ? [] : storage.reserveIds(TRANSIENTS.name, count)
}

/** Returns the row of each id, in order; undefined if it does not exist. */
export async function getTransients(storage: StorageReads, ids: readonly number[]): Promise<readonly (Row | undefined)[]> {
  return ids.length === 0 ? [] : storage.get(TRANSIENTS.name, ids)
}

/** Drops the transient values of replaced cells. */
export async function dropTransients(storage: Storage, replaced: TokenMetadata): Promise<void> {
  const ids = replaced.transientRefs.flatMap((transientRef) => (transientRef === undefined ? [] : [transientRef.row]))
  if (ids.length > 0) await storage.delete(TRANSIENTS.name, { ids })
}

/** Returns the pass that deletes expired values and their stored tokens. Each slice is one transaction. */
export function purgePass(storage: Storage, context: Pick<ReadingContext, 'clock' | 'layout'>): MaintenancePass {
  const objectIds = [...context.layout.tokenColumns].flatMap(([objectId, { column }]) =>
    column.token?.expires === true ? [objectId] : [],
  )
  const filter = { kind: 'compare', column: 'expires_at', operator: '<', value: nowMs(context) + 1 } as const
  return {
    async slice() {
      const rows = await storage.transaction(async (inner) => {
        const expired = await inner.find(TRANSIENTS.name, filter, { order: 'asc', limit: SLICE, columns: [] })
        const ids = expired.map(({ id }) => id)
        if (ids.length > 0) await inner.delete(TRANSIENTS.name, { ids })
        await dropTokens(inner, objectIds, ids)
        return ids.length
      })
      return { rows, isLast: rows < SLICE }
    },
  }
}
