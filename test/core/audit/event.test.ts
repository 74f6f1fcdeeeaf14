/** Rows as runs of neighbors, and back. */
import { expect, it } from 'vitest'
import { fromRuns, onlyRowIds, outcomeOf, toRuns } from '../../../src/core/audit/event.ts'
import { VaultError } from '../../../src/core/errors.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'

it('makes one run of a thousand neighbors', () => {
  expect(toRuns(Array.from({ length: 1000 }, (_, index) => 5 + index))).toEqual([[5, 1000]])
})

it('returns any rows in their order, also repeated and falling ones', () => {
  const random = seededRandom('runs')
  for (let round = 0; round < 300; round++) {
    const rows = Array.from({ length: Math.floor(random() * 40) }, () => 1 + Math.floor(random() * 20))
    expect(fromRuns(toRuns(rows))).toEqual(rows)
  }
  expect(toRuns([3, 2, 1])).toEqual([
    [3, 1],
    [2, 1],
    [1, 1],
  ])
})

it('leaves out numbers that are no row ids, and keeps a list that has none', () => {
  const rows = [3, 1, 2 ** 48 - 1]
  expect(onlyRowIds(rows)).toBe(rows)
  expect(onlyRowIds([0, 3, -1, Number.NaN, 1, 2 ** 48])).toEqual([3, 1])
})

it('returns status and message of a VaultError', () => {
  const error = new VaultError('not_found', 'Get failed. No record has this id.')
  expect(outcomeOf(error)).toEqual({ code: 404, message: 'Get failed. No record has this id.', failure: 'not_found' })
})

it('returns a constant message for any other error', () => {
  for (const error of [new Error('secret'), 'secret', undefined, { message: 'secret' }]) {
    expect(outcomeOf(error)).toEqual({ code: 500, message: 'Something unexpected went wrong.', failure: 'internal' })
  }
})
