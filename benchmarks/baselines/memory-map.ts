/** Baseline: a Map of plain objects, copied through JSON on insert and on get. */
import { required } from '../../src/core/util/lists.ts'
import type { Batch, Person } from '../fixtures/people.ts'

export interface MemoryMap {
  insert(batch: Batch): readonly number[]
  get(ids: readonly number[]): readonly Person[]
}

export function createMemoryMap(): MemoryMap {
  const rows = new Map<number, Person>()
  let last = 0
  const copy = (person: Person): Person => JSON.parse(JSON.stringify(person))
  return {
    insert: (batch) =>
      batch.map(({ fields }) => {
        rows.set(++last, copy(fields))
        return last
      }),
    get: (ids) => ids.map((id) => copy(required(rows.get(id), `row ${id}`))),
  }
}
