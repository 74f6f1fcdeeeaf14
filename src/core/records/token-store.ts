/** Tokens that must be remembered: which cell each text stands for, found by digest, never by scanning. */
import { keyOfCell } from '../barrier/lookup.ts'
import type { Marks } from '../barrier/marks.ts'
import { slotOf } from '../barrier/marks.ts'
import type { KeyRing } from '../ports/keys.ts'
import { DIGEST_BYTES } from '../ports/keys.ts'
import type { NewRow, Storage, StorageReads } from '../ports/storage.ts'
import type { Table } from '../schema/layout.ts'
import { TOKENS } from '../schema/side-tables.ts'
import { ByteWriter } from '../util/bytes.ts'

/** Scope of the digests of token texts. */
const SCOPE = 'token'

/** Which cell a token stands for: the column's space, and the row of the record or, where the value lives apart, of the value. */
export interface TokenHome {
  readonly space: number
  readonly row: number
}

/** A token to remember. `place` is the record's place in the request. */
export interface NewToken extends TokenHome {
  readonly text: string
  readonly place: number
}

/** The tokens among these marks that must be remembered. */
export function tokensToStore(table: Table, ids: readonly number[], marks: Marks): NewToken[] {
  const tokens: NewToken[] = []
  for (let place = 0; place < ids.length; place++) {
    for (const column of table.tokenized) {
      const slot = slotOf(marks, place, column)
      const text = marks.texts[slot]
      if (text === undefined) continue
      tokens.push({ text, space: column.space, row: marks.tickets[slot]?.row ?? ids[place] ?? 0, place })
    }
  }
  return tokens
}

/** The rows that remember tokens, in their order. Made before a transaction begins: nothing keyed is computed while the writer is held. */
export async function tokenRows(storage: StorageReads, ring: KeyRing, tokens: readonly NewToken[]): Promise<NewRow[]> {
  if (tokens.length === 0) return []
  const ids = await storage.reserveIds(TOKENS.name, tokens.length)
  const digests = digestTexts(
    ring,
    tokens.map(({ text }) => text),
  )
  return tokens.map(({ space, row }, index) => ({ id: ids[index] ?? 0, digest: digests[index] ?? null, space, row_id: row }))
}

/** Remembers tokens. Throws `conflict` on the table of tokens, with the place in the list, when one is taken. */
export async function insertTokens(storage: Storage, rows: readonly NewRow[]): Promise<void> {
  if (rows.length > 0) await storage.insert(TOKENS.name, rows)
}

/** Forgets the tokens of these columns' cells in these rows. */
export async function dropTokens(storage: Storage, spaces: readonly number[], rows: readonly number[]): Promise<void> {
  if (spaces.length === 0 || rows.length === 0) return
  await storage.delete(TOKENS.name, {
    filter: {
      kind: 'and',
      filters: [
        { kind: 'in', column: 'row_id', values: rows },
        { kind: 'in', column: 'space', values: spaces },
      ],
    },
  })
}

/** Where each text is remembered to stand; undefined for a text nobody remembers. */
export async function findTokens(
  storage: StorageReads,
  ring: KeyRing,
  texts: readonly string[],
): Promise<(TokenHome | undefined)[]> {
  const digests = digestTexts(ring, texts)
  const rows = await storage.find(
    TOKENS.name,
    { kind: 'in', column: 'digest', values: digests },
    { order: 'up', limit: texts.length },
  )
  const homes = new Map(rows.map((row) => [keyOfCell(row.digest), { space: Number(row.space), row: Number(row.row_id) }]))
  return digests.map((digest) => homes.get(keyOfCell(digest)))
}

function digestTexts(ring: KeyRing, texts: readonly string[]): Uint8Array[] {
  const out = new ByteWriter(texts.length * 40)
  const ends = new Uint32Array(texts.length)
  for (const [index, text] of texts.entries()) {
    out.utf8(text)
    ends[index] = out.length
  }
  const digests = ring.digest(SCOPE, { bytes: out.written(), ends, count: texts.length })
  return texts.map((_, index) => digests.slice(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES))
}
