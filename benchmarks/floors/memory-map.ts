/** Floor: a Map of plain objects that copies through JSON both ways, as a careful store in memory does at least. */
import type { Batch, Person } from '../people.ts'

export interface MemoryMap {
  insert(batch: Batch): readonly number[]
  get(ids: readonly number[]): readonly Person[]
}

export function createMemoryMap(): MemoryMap {
  const rows = new Map<number, Person>()
  let last = 0
  const copy = (person: Person | undefined): Person => JSON.parse(JSON.stringify(person))
  return {
    insert: (batch) =>
      batch.map(({ fields }) => {
        rows.set(++last, copy(fields))
        return last
      }),
    get: (ids) => ids.map((id) => copy(rows.get(id))),
  }
}
