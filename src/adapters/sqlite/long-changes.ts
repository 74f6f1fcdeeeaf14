/** Changes and deletions of many rows: the event loop has its turns while they are stored, because the driver answers at once. */
import type { Cell, DeleteTarget, Patch } from '../../core/ports/storage.ts'
import { at } from '../../core/util/at.ts'
import { inWholeList } from './long-commits.ts'

/** Bytes of the cells that are written between two turns. */
const BYTES_OF_TURN = 256 * 1024
/** Rows that are deleted between two turns. */
const DELETED_OF_TURN = 256

/** True for patches that take turns. */
export function isLongUpdate(patches: readonly Patch[]): boolean {
  return patches.length > 1 && endOfTurn(patches, 0) < patches.length
}

/** Returns the ids of a deletion that takes turns; undefined for one that takes none. */
export function longDeletion(target: DeleteTarget): readonly number[] | undefined {
  return 'ids' in target && target.ids.length > DELETED_OF_TURN ? target.ids : undefined
}

/** Applies patches in order, as `Storage.update` does. Throws `conflict` with the index in this list. Inside a savepoint, which is rolled back if it rejects. */
export async function updateInTurns(
  patches: readonly Patch[],
  update: (patches: readonly Patch[]) => Promise<readonly boolean[]>,
  takeTurn: () => Promise<void>,
): Promise<readonly boolean[]> {
  const applied: boolean[] = []
  for (let start = 0; start < patches.length; start = applied.length) {
    if (start > 0) await takeTurn()
    try {
      applied.push(...(await update(patches.slice(start, endOfTurn(patches, start)))))
    } catch (error) {
      throw inWholeList(error, start)
    }
  }
  return applied
}

/** Returns the end of the patches that begin at `start` and are stored in one turn: at least one, of any length. */
function endOfTurn(patches: readonly Patch[], start: number): number {
  let end = start
  for (let bytes = 0; end < patches.length; end++) {
    bytes += bytesOf(at(patches, end).set)
    if (bytes > BYTES_OF_TURN && end > start) return end
  }
  return end
}

function bytesOf(cells: Readonly<Record<string, Cell>>): number {
  let bytes = 0
  for (const column in cells) {
    const cell = cells[column]
    if (cell instanceof Uint8Array || typeof cell === 'string') bytes += cell.length
  }
  return bytes
}

/** Deletes rows, as `Storage.delete` does. Inside a transaction, whose caller rolls it back if it rejects. */
export async function deleteInTurns(
  ids: readonly number[],
  remove: (ids: readonly number[]) => Promise<readonly number[]>,
  takeTurn: () => Promise<void>,
): Promise<readonly number[]> {
  const deleted: number[] = []
  for (let start = 0; start < ids.length; start += DELETED_OF_TURN) {
    if (start > 0) await takeTurn()
    deleted.push(...(await remove(ids.slice(start, start + DELETED_OF_TURN))))
  }
  return deleted.sort((left, right) => left - right)
}
