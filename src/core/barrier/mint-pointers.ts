/** Row positions and stamps to the texts that leave: record ids and pointer tokens, a whole list in one call. */
import type { KeyRing } from '../ports/keys.ts'
import { POINTER_WORDS } from '../ports/keys.ts'
import type { Column, Table } from '../schema/layout.ts'
import { readPointer, writePointer } from '../sealing/pointer.ts'
import type { Stamps } from './stamps.ts'
import { slotOf } from './stamps.ts'

/** Tokens by column name. */
export type Tokens = { [column: string]: string }

/** The public ids of rows. */
export function mintIds(ring: KeyRing, table: Table, ids: readonly number[]): string[] {
  const words = new Uint32Array(ids.length * POINTER_WORDS)
  for (let i = 0; i < ids.length; i++) writePointer(words, i, { space: table.space, row: ids[i] ?? 0, checkHigh: 0, checkLow: 0 })
  return ring.disguise(words)
}

/** The tokens of each row, for the columns that have a stamp. */
export function mintTokens(ring: KeyRing, columns: readonly Column[], ids: readonly number[], stamps: Stamps): Tokens[] {
  const words = new Uint32Array(ids.length * columns.length * POINTER_WORDS)
  let count = 0
  for (let row = 0; row < ids.length; row++) {
    for (const column of columns) {
      const slot = slotOf(stamps, row, column)
      if (stamps.has[slot] !== 1) continue
      const [checkHigh, checkLow] = [stamps.high[slot] ?? 0, stamps.low[slot] ?? 0]
      writePointer(words, count++, { space: column.space, row: ids[row] ?? 0, checkHigh, checkLow })
    }
  }
  const texts = ring.disguise(words.subarray(0, count * POINTER_WORDS))
  const minted: Tokens[] = new Array(ids.length)
  let next = 0
  for (let row = 0; row < ids.length; row++) {
    const tokens: Tokens = {}
    for (const column of columns) {
      if (stamps.has[slotOf(stamps, row, column)] === 1) tokens[column.name] = texts[next++] ?? ''
    }
    minted[row] = tokens
  }
  return minted
}

/** One stored record as its caller learns of it. */
export interface StoredRecord {
  readonly id: string
  readonly tokens?: Tokens
}

/** Ids and, where asked for, tokens of rows just written. */
export function mintRecords(ring: KeyRing, table: Table, ids: readonly number[], stamps: Stamps | undefined): StoredRecord[] {
  const publicIds = mintIds(ring, table, ids)
  if (stamps === undefined) return publicIds.map((id) => ({ id }))
  const tokens = mintTokens(ring, table.tokenized, ids, stamps)
  return publicIds.map((id, index) => ({ id, tokens: tokens[index] ?? {} }))
}

/** The row each public id of this table names; undefined for a text that names none. */
export function readIds(ring: KeyRing, table: Table, texts: readonly string[]): (number | undefined)[] {
  const { words, wellFormed } = ring.undisguise(texts)
  return texts.map((_, index) => {
    const { space, row, checkHigh, checkLow } = readPointer(words, index)
    const isOurs = wellFormed[index] === 1 && space === table.space && checkHigh === 0 && checkLow === 0
    return isOurs ? row : undefined
  })
}
